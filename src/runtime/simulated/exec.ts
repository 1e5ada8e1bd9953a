// Runs a simulated program against the streams of an exec.

import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Writable } from 'node:stream';
import type { ExecStreams } from '../../cri/index.ts';
import type { Clock } from '../../machinery/clock.ts';
import type { Program } from './program.ts';

async function write(stream: Writable | undefined, chunk: string | Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed || stream.writableEnded) return;
  if (!stream.write(chunk)) await once(stream, 'drain', { signal });
}

/** Ends an output stream and waits until it has taken everything; a reader that went away is no error of the program. */
async function end(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return;
  stream.end();
  await finished(stream, { readable: false }).catch(() => undefined);
}

/** The exit code. Rejects with the signal's reason on abort. */
export async function runProgram(
  steps: Program,
  streams: ExecStreams & { tty?: boolean | undefined },
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  try {
    for (;;) {
      signal?.throwIfAborted();
      const next = steps.next();
      if (next.done) {
        if (next.value !== 'forever') return next.value;
        await new Promise<never>((_, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
        );
        continue;
      }
      const step = next.value;
      if (step.kind === 'sleep') await clock.sleep(step.ms, signal);
      else if (step.kind === 'write') {
        await write(step.stream === 'stderr' && !streams.tty ? streams.stderr : streams.stdout, step.text, signal);
      } else if (streams.stdin) {
        for await (const chunk of streams.stdin) await write(streams.stdout, chunk as Uint8Array, signal);
      }
    }
  } finally {
    await Promise.all([end(streams.stdout), end(streams.stderr)]);
  }
}
