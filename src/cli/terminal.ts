// Common parts of commands at a terminal: colours, a line of progress, signals, and paths as a user would type them.

import { relative } from 'node:path';
import { isatty } from 'node:tty';
import picocolors from 'picocolors';
import { type Clock, systemClock } from '#machinery/clock.ts';

/** Colours only for a person at a terminal: never into a pipe or a file, in CI either. */
export const coloursFor = (stream: {
  readonly fd: number;
}): ReturnType<typeof picocolors.createColors> =>
  picocolors.createColors(isatty(stream.fd) && picocolors.isColorSupported);

/** A path as one would type it here. */
export function shortest(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') || here === '' ? path : here;
}

/** Without a terminal, a step that goes on is reported this often. */
const REPORT_MS = 5000;

export interface ProgressLine {
  /** `count`: how far the step is, such as '3 of 7'. */
  show(step: string, count?: string): void;
  clear(): void;
}

/**
 * Shows what is being done on stderr: on a terminal in one line that is overwritten, otherwise in a
 * line for each step, and every few seconds while the count of a step changes.
 */
export function progressLine(
  quiet: boolean,
  clock: Clock = systemClock,
  stream: NodeJS.WriteStream & { readonly fd: number } = process.stderr,
): ProgressLine {
  const terminal = stream.isTTY;
  const { dim } = coloursFor(stream);
  let shown: { readonly text: string; readonly step: string; readonly at: number } | undefined;
  return {
    show(step, count) {
      if (quiet) return;
      const text = count === undefined ? step : `${step}: ${count}`;
      const now = clock.monotonic();
      if (text === shown?.text || (!terminal && step === shown?.step && now - shown.at < REPORT_MS))
        return;
      shown = { text, step, at: now };
      stream.write(terminal ? `\r\x1b[K${dim(`${text} …`)}` : `${text}\n`);
    },
    clear() {
      if (shown !== undefined && terminal) stream.write('\r\x1b[K');
      shown = undefined;
    },
  };
}

/** Resolves with the signal's name at the first SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. */
export function stopSignal(): {
  readonly requested: Promise<string>;
  readonly signal: AbortSignal;
} {
  const controller = new AbortController();
  const requested = new Promise<string>((resolveRequested) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.on(name, () => {
        if (controller.signal.aborted) process.exit(130);
        controller.abort(new Error(`stopped by ${name}`));
        resolveRequested(name);
      });
    }
  });
  return { requested, signal: controller.signal };
}
