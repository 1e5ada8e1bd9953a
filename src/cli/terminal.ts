// What the commands have in common at a terminal: colours, a line of progress, signals, paths as one would type them.

import { relative } from 'node:path';
import { isatty } from 'node:tty';
import picocolors from 'picocolors';

/** Colours only for a person at a terminal: never into a pipe or a file, in CI either. */
export const coloursFor = (stream: { readonly fd: number }): ReturnType<typeof picocolors.createColors> =>
  picocolors.createColors(isatty(stream.fd) && picocolors.isColorSupported);

/** A path as one would type it here. */
export function shortest(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') || here === '' ? path : here;
}

/** One line that is overwritten on a terminal; on anything else a line for each step. */
export function progressLine(quiet: boolean): { show(text: string): void; clear(): void } {
  const terminal = process.stderr.isTTY;
  const { dim } = coloursFor(process.stderr);
  let shown = false;
  return {
    show(text) {
      if (quiet) return;
      process.stderr.write(terminal ? `\r\x1b[K${dim(`${text} …`)}` : `${text}\n`);
      shown = true;
    },
    clear() {
      if (shown && terminal) process.stderr.write('\r\x1b[K');
      shown = false;
    },
  };
}

/** Resolves with the signal's name at the first SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. */
export function stopSignal(): { readonly requested: Promise<string>; readonly signal: AbortSignal } {
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
