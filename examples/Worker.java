// A benchmark program in Java with its own implementation of the worker protocol (docs/worker-protocol.md). It needs only
// the JDK, 11 or later. `stillwell bench 'java -cp old Worker' 'java -cp new Worker'` compares two builds.
//
//     javac -d new Worker.java
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

public final class Worker {
    /** Repeats its code so many times. */
    private interface Loop {
        void run(long loops) throws Exception;
    }

    /** What a benchmark computes goes here, so that the compiler cannot leave it out. */
    static volatile Object kept;
    static volatile int keptInt;

    private static final String TEXT = "the quick brown fox jumps over the lazy dog";
    private static final int[] NUMBERS = new int[1000];
    private static final Map<String, Loop> BENCHMARKS = new LinkedHashMap<>();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static {
        for (int i = 0; i < NUMBERS.length; i++) NUMBERS[i] = i * 7919 % 1000;
        BENCHMARKS.put("hash", loops -> {
            for (long i = 0; i < loops; i++) keptInt = new String(TEXT).chars().sum();
        });
        BENCHMARKS.put("sort_1000", loops -> {
            for (long i = 0; i < loops; i++) {
                int[] copy = NUMBERS.clone();
                Arrays.sort(copy);
                kept = copy;
            }
        });
    }

    /** Writes a text as one word. */
    private static String escape(String text) {
        StringBuilder word = new StringBuilder();
        for (byte c : text.getBytes(StandardCharsets.UTF_8)) {
            if (c > ' ' && c <= '~' && c != '\\') word.append((char) c);
            else word.append(String.format("\\x%02x", c & 0xff));
        }
        return word.length() == 0 ? "\\x" : word.toString();
    }

    private static String error(String text) {
        return "error " + escape(text);
    }

    /**
     * The JDK counts the CPU time of the process in steps of up to 10 ms, and that of a thread in nanoseconds. So a benchmark
     * must do its work in the thread that calls it.
     */
    private static String measure(Loop loop, long loops) throws Exception {
        long cpu = THREADS.getCurrentThreadCpuTime(), start = System.nanoTime(); // the wall clock is the inner one
        loop.run(loops);
        long wall = System.nanoTime() - start; // CLOCK_MONOTONIC
        return "time " + wall + " " + (THREADS.getCurrentThreadCpuTime() - cpu);
    }

    private static String selected;

    private static String answer(String request) throws Exception {
        String[] words = request.split(" ", -1);
        switch (words.length == 2 ? words[0] : request) {
            case "list": {
                StringBuilder lines = new StringBuilder();
                for (String name : BENCHMARKS.keySet()) lines.append("benchmark ").append(escape(name)).append('\n');
                return lines + "end";
            }
            case "metadata":
                return "meta vm " + escape(System.getProperty("java.vm.name")) + "\nend";
            case "quit":
                return "bye";
            case "select": {
                selected = null;
                for (String name : BENCHMARKS.keySet()) if (escape(name).equals(words[1])) selected = name;
                return selected == null ? error("no benchmark is called " + words[1]) : "ok";
            }
            case "run": {
                if (selected == null) return error("select a benchmark first");
                if (!words[1].matches("[0-9]{1,18}") || Long.parseLong(words[1]) == 0)
                    return error("LOOPS is not a whole number of 1 or more");
                return measure(BENCHMARKS.get(selected), Long.parseLong(words[1]));
            }
            default:
                return error("unknown request");
        }
    }

    private static void write(OutputStream answers, String line) throws IOException {
        answers.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        answers.flush();
    }

    public static void main(String[] arguments) throws IOException {
        String last = arguments.length == 0 ? "" : arguments[arguments.length - 1];
        if (!last.matches("--stillwell-worker=\\d+,\\d+")) {
            System.err.println("This is a benchmark program: stillwell bench 'java -cp old Worker' 'java -cp new Worker'");
            System.exit(2);
        }
        String[] descriptors = last.substring(last.indexOf('=') + 1).split(",");
        // Java cannot open a descriptor by its number, but /proc has a path for it.
        try (BufferedReader requests = new BufferedReader(new InputStreamReader(
                     new FileInputStream("/proc/self/fd/" + descriptors[0]), StandardCharsets.US_ASCII));
             OutputStream answers = new FileOutputStream("/proc/self/fd/" + descriptors[1])) {
            write(answers, "stillwell 1 language=java version=" + escape(System.getProperty("java.version")) + " jit=1");
            for (String request = requests.readLine(); request != null; request = requests.readLine()) {
                String text;
                try {
                    text = answer(request);
                } catch (Throwable thrown) {
                    thrown.printStackTrace();
                    text = error(thrown.toString());
                }
                write(answers, text);
                if (text.equals("bye")) return;
            }
        }
    }
}
