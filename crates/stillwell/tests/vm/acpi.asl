// What qemu's firmware does not describe and real machines do: clock frequencies (_PCT, _PSS) and idle states (_CST) of
// the CPUs, with which Linux's own acpi-cpufreq and acpi_idle work in the guest. Each CPU's register of the frequency is a
// byte of the ISA DMA page registers that nothing uses and that can be read back. Of the idle states both are HLT: with one
// that is entered by reading a port, idle CPUs of qemu would spin. `run` hands acpi.aml to qemu; to make that again:
//
//     iasl acpi.asl       # of Debian's acpica-tools
DefinitionBlock ("acpi.aml", "SSDT", 2, "STILLW", "PSTATES", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    External (\_SB.CPUS.C002, DeviceObj)
    External (\_SB.CPUS.C003, DeviceObj)

    Scope (\_SB)
    {
        // MHz, mW, two latencies in µs, and what is written to the register and read back. Firmware of Intel's processors has
        // the turbo as an entry of its own that is 1 MHz above the frequency that can always be held.
        Name (SWPS, Package () {
            Package () { 3001, 20000, 10, 10, 0x00, 0x00 },
            Package () { 3000, 18000, 10, 10, 0x01, 0x01 },
            Package () { 2200, 12000, 10, 10, 0x02, 0x02 },
            Package () { 1200,  6000, 10, 10, 0x03, 0x03 }
        })
        Name (SWCS, Package () {
            2,
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 1, 1000 },
            Package () { ResourceTemplate () { Register (FFixedHW, 0, 0, 0) }, 1, 100, 500 }
        })
    }

    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x81) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x81) }
        })
        Method (_PSS, 0) { Return (SWPS) }
        Method (_PPC, 0) { Return (0) }
        Method (_CST, 0) { Return (SWCS) }
    }

    Scope (\_SB.CPUS.C001)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x82) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x82) }
        })
        Method (_PSS, 0) { Return (SWPS) }
        Method (_PPC, 0) { Return (0) }
        Method (_CST, 0) { Return (SWCS) }
    }

    Scope (\_SB.CPUS.C002)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x83) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x83) }
        })
        Method (_PSS, 0) { Return (SWPS) }
        Method (_PPC, 0) { Return (0) }
        Method (_CST, 0) { Return (SWCS) }
    }

    Scope (\_SB.CPUS.C003)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x87) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0x87) }
        })
        Method (_PSS, 0) { Return (SWPS) }
        Method (_PPC, 0) { Return (0) }
        Method (_CST, 0) { Return (SWCS) }
    }
}
