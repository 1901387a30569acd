// A benchmark program in Go with its own implementation of the worker protocol (docs/worker-protocol.md). It needs only
// the standard library. `stillwell bench ./worker-old ./worker-new` compares two builds.
//
//	go build -o worker-new worker.go
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// The benchmarks, as a test file has them: each repeats its code b.N times. All of a function is timed, so keep what it
// needs in variables of the package. b.ResetTimer and b.Loop have no use here.
var benchmarks = []struct {
	name string
	run  func(b *testing.B)
}{
	{"BenchmarkFields", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			words = strings.Fields(text)
		}
	}},
	{"BenchmarkItoa", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			number = strconv.Itoa(i)
		}
	}},
}

// Variables of the package, so that the compiler neither computes the input beforehand nor leaves out the result.
var (
	text   = strings.Repeat("the quick brown fox ", 20)
	words  []string
	number string
)

// cpuNs is the CPU time of the process with all its threads.
func cpuNs() int64 {
	var t syscall.Timespec
	const processCPUTime = 2 // CLOCK_PROCESS_CPUTIME_ID
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, processCPUTime, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// escape writes a text as one word.
func escape(text string) string {
	var word strings.Builder
	for _, c := range []byte(text) {
		if c > ' ' && c <= '~' && c != '\\' {
			word.WriteByte(c)
		} else {
			fmt.Fprintf(&word, `\x%02x`, c)
		}
	}
	return word.String()
}

// measure runs a benchmark in a goroutine of its own: b.Fatal and b.FailNow end the goroutine that calls them.
func measure(run func(b *testing.B), loops int) string {
	b := &testing.B{N: loops}
	answer := make(chan string)
	go func() {
		failure := "the benchmark ended before its loops"
		defer func() {
			if reason := recover(); reason != nil {
				failure = fmt.Sprint("panic: ", reason)
			}
			if failure != "" || b.Failed() {
				answer <- "error " + escape(failure)
			}
		}()
		cpu, start := cpuNs(), time.Now() // the wall clock is the inner one
		run(b)
		wall := time.Since(start) // CLOCK_MONOTONIC
		cpu = cpuNs() - cpu
		failure = ""
		if b.Failed() {
			failure = "the benchmark failed"
			return
		}
		answer <- fmt.Sprintf("time %d %d", wall.Nanoseconds(), cpu)
	}()
	return <-answer
}

func main() {
	var in, out int
	if n, _ := fmt.Sscanf(os.Args[len(os.Args)-1], "--stillwell-worker=%d,%d", &in, &out); n != 2 {
		fmt.Fprintln(os.Stderr, "This is a benchmark program: stillwell bench ./worker-old ./worker-new")
		os.Exit(2)
	}
	// Not for the programs that a benchmark starts.
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	requests, answers := bufio.NewScanner(os.NewFile(uintptr(in), "requests")), os.NewFile(uintptr(out), "answers")
	fmt.Fprintf(answers, "stillwell 1 language=go version=%s\n", escape(runtime.Version()))
	selected := -1
	for requests.Scan() {
		request, argument, _ := strings.Cut(requests.Text(), " ")
		answer := `error unknown\x20request`
		switch request {
		case "list":
			answer = ""
			for _, benchmark := range benchmarks {
				answer += "benchmark " + escape(benchmark.name) + "\n"
			}
			answer += "end"
		case "select":
			selected, answer = -1, "error "+escape("no benchmark is called "+argument)
			for at, benchmark := range benchmarks {
				if escape(benchmark.name) == argument {
					selected, answer = at, "ok"
				}
			}
		case "run":
			loops, err := strconv.Atoi(argument)
			if selected < 0 {
				answer = "error " + escape("select a benchmark first")
			} else if err != nil || loops < 1 {
				answer = "error " + escape("LOOPS is not a whole number of 1 or more")
			} else {
				answer = measure(benchmarks[selected].run, loops)
			}
		case "metadata":
			answer = "meta architecture " + runtime.GOARCH + "\nend"
		case "quit":
			answer = "bye"
		}
		fmt.Fprintln(answers, answer)
		if request == "quit" {
			return
		}
	}
}
