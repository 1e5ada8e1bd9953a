// Connects a simulated program to the streams of an exec.

import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import type { ExecStreams } from '#cri/index.ts';
import { type Outcome, type ProgramContext, runProgram } from './run.ts';
import { Input, type Output } from './shell/io.ts';

/** Returns an output for the stream. A closed reader is no error of the program. */
function outputTo(stream: Writable | undefined, terminal: boolean, signal: AbortSignal): Output {
  return {
    write: async (bytes) => {
      if (stream === undefined || stream.destroyed || stream.writableEnded || bytes.length === 0)
        return;
      const text = terminal
        ? Buffer.from(Buffer.from(bytes).toString().replaceAll(/\r?\n/g, '\r\n'))
        : bytes;
      if (!stream.write(text))
        await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
    },
  };
}

/** Ends an output stream and waits until all data was written. */
async function end(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return;
  stream.end();
  await finished(stream, { readable: false }).catch(() => undefined);
}

/**
 * Returns an input with the chunks of a stream, which stays open when reading stops. Ends when the
 * signal aborts.
 */
export function inputFrom(stream: Readable | undefined, signal: AbortSignal): Input {
  if (stream === undefined) return Input.empty();
  const chunks = stream.iterator({ destroyOnReturn: false });
  const aborted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  return new Input(async () => {
    const next = (await Promise.race([chunks.next(), aborted])) as
      | IteratorResult<Uint8Array>
      | undefined;
    return next === undefined || next.done === true ? undefined : next.value;
  });
}

/** Characters that a terminal interprets itself. */
const [END_OF_INPUT, INTERRUPT, BACKSPACE, DELETE] = ['\u0004', '\u0003', '\b', '\u007f'];

/**
 * Returns an input with the line discipline of a terminal: input is echoed, and passed to the
 * program line by line.
 */
function terminalInput(source: Input, echo: Output): Input {
  let line = '';
  const ready: string[] = [];
  let ended = false;
  return new Input(async () => {
    while (ready.length === 0 && !ended) {
      const chunk = await source.read();
      if (chunk === undefined) {
        ended = true;
        if (line !== '') ready.push(line);
        break;
      }
      for (const char of Buffer.from(chunk).toString()) {
        if (char === '\r' || char === '\n') {
          ready.push(`${line}\n`);
          line = '';
          await echo.write(Buffer.from('\n'));
        } else if (char === BACKSPACE || char === DELETE) {
          if (line !== '') await echo.write(Buffer.from('\b \b'));
          line = line.slice(0, -1);
        } else if (char === INTERRUPT) {
          line = '';
          await echo.write(Buffer.from('^C\n'));
        } else if (char === END_OF_INPUT) {
          if (line === '') ended = true;
        } else {
          line += char;
          await echo.write(Buffer.from(char));
        }
      }
    }
    const next = ready.shift();
    return next === undefined ? undefined : Buffer.from(next);
  });
}

/**
 * Runs a program with the streams of an exec. Resolves with the exit code. Rejects with the
 * signal's reason.
 */
export async function execProgram(
  command: readonly string[],
  context: ProgramContext,
  streams: ExecStreams & { readonly tty: boolean },
  signal: AbortSignal,
): Promise<number> {
  try {
    const stdout = outputTo(streams.stdout, streams.tty, signal);
    const stderr = streams.tty ? stdout : outputTo(streams.stderr, false, signal);
    const source = inputFrom(streams.stdin, signal);
    const stdin = streams.tty ? terminalInput(source, stdout) : source;
    const outcome: Outcome = await runProgram(command, context, { stdin, stdout, stderr }, signal);
    signal.throwIfAborted();
    if (outcome !== 'forever') return outcome;
    return await new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  } finally {
    await Promise.all([end(streams.stdout), end(streams.stderr)]);
  }
}
