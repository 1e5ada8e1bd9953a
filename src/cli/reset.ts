// `cox reset`: removes a cluster from this machine, after a question.

import { createInterface } from 'node:readline/promises';
import { systemClock } from '#machinery/clock.ts';
import { dataDirLayout, readClaim } from '#cluster/data-dir/data-dir.ts';
import { checkResettable, reset as resetDataDir } from '#cluster/machine/reset.ts';
import { UserError } from '#cluster/user-error.ts';
import { describe, takeDown } from './down.ts';
import { writeJson } from './inspect/output.ts';
import { progressLine } from './terminal.ts';

export interface ResetCommandOptions {
  readonly dataDir: string;
  readonly rootDir?: string;
  readonly stop?: boolean;
  readonly yes?: boolean;
  readonly output?: 'json';
}

export async function reset(options: ResetCommandOptions): Promise<void> {
  const layout = dataDirLayout(options.dataDir);
  const running = readClaim(layout).state === 'running';
  const isJson = options.output === 'json';
  if (!(running && options.stop) && !(await checkResettable(options.dataDir))) {
    const nothing = { dataDir: layout.root, removed: false, processes: 0, mounts: 0, kept: [] };
    if (isJson) return writeJson(nothing);
    process.stdout.write(`nothing to remove: ${layout.root} does not exist or is empty\n`);
    return;
  }
  if (options.yes !== true && !(await confirm(layout.root)))
    throw new UserError('nothing was removed');
  if (running && options.stop) {
    const result = await takeDown({ dataDir: options.dataDir });
    if (!isJson) process.stdout.write(describe(result, false));
  }
  const progress = progressLine(false);
  try {
    const { root, processes, mounts, kept } = await resetDataDir({
      dataDir: options.dataDir,
      rootDir: options.rootDir,
      clock: systemClock,
      progress: (text) => progress.show(text),
    });
    progress.clear();
    if (isJson) {
      const result = { dataDir: root, removed: true, processes, mounts, kept };
      return writeJson(result);
    }
    process.stdout.write(
      `removed: ${root} (${processes} processes ended, ${mounts} mounts removed)\n`,
    );
    if (kept.length > 0)
      process.stdout.write(`left in ${root}, since no cluster made it: ${kept.join(', ')}\n`);
  } finally {
    progress.clear();
  }
}

async function confirm(root: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UserError(`this removes ${root} with all pods and data: add --yes to confirm`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const text = await terminal.question(`Remove ${root} with all pods and data? Type "yes": `);
    return text.trim() === 'yes';
  } finally {
    terminal.close();
  }
}
