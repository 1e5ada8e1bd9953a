// The inputs of commands that read files, or standard input.

import { FileError } from '../file-system.ts';
import { Input } from '../io.ts';
import { MAX_TEXT } from '../kernel.ts';
import { complain, pathOf, type Process } from '../process.ts';

/** Opens a file, or stdin for `-`. Throws FileError. */
export function open(process: Process, path: string): Input {
  if (path === '-') return process.stdin;
  const full = pathOf(process, path);
  const node = process.kernel.config.files.find(full);
  if (node?.kind !== 'device') return Input.of(process.kernel.config.files.read(full));
  if (node.device === 'stdin') return process.stdin;
  if (node.device === 'null') return Input.empty();
  const { random } = process.kernel.config;
  return new Input(async () => {
    await process.kernel.step(20);
    return node.device === 'random' ? random.bytes(4096) : new Uint8Array(4096);
  });
}

/** Runs `work` for each file (stdin without any); reports unreadable files. */
export async function eachInput(
  process: Process,
  paths: readonly string[],
  work: (input: Input, path: string) => Promise<void>,
): Promise<number> {
  let code = 0;
  for (const path of paths.length === 0 ? ['-'] : paths) {
    try {
      await work(open(process, path), path);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      code = await complain(process, `${path}: ${error.message}`);
    }
  }
  return code;
}

/** Yields the lines of an input, without newlines. */
export async function* linesOf(process: Process, input: Input): AsyncGenerator<string> {
  for (;;) {
    await process.kernel.step();
    const line = await input.readLine(MAX_TEXT);
    if (line === undefined) return;
    yield line.endsWith('\n') ? line.slice(0, -1) : line;
  }
}
