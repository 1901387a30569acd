/* The smallest program: it ends with status 0. Its time is the time of the launch. */
.globl _start
_start:
#if defined(__x86_64__)
        mov $60, %eax
        xor %edi, %edi
        syscall
#elif defined(__aarch64__)
        mov x8, #93
        mov x0, #0
        svc #0
#endif
.section .note.GNU-stack, "", %progbits
