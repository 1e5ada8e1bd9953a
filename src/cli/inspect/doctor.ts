// `cox doctor`: what the machine lacks for which feature, and how to get it.

import { diagnose, type Feature, type FindingState, readFacts } from '#cluster/doctor/index.ts';
import { printable } from '#machinery/text/printable.ts';
import { typed } from '../own-command.ts';
import { coloursFor } from '../terminal.ts';
import { type Colours, mark, type OutputFlags, writeJson } from './output.ts';

export interface DoctorFlags extends OutputFlags {
  readonly dataDir: string;
  readonly exitCode?: boolean;
}

const SEVERITY = { ok: 'ok', missing: 'problem', limited: 'waiting', unknown: 'info' } as const;
const WORDS: Readonly<Record<FindingState, string>> = {
  ok: 'ready',
  missing: 'not possible yet',
  limited: 'possible, with limits',
  unknown: 'possible, as far as it is known',
};

export async function doctor(flags: DoctorFlags): Promise<void> {
  const features = diagnose(await readFacts(flags.dataDir));
  if (flags.output === 'json') writeJson({ features });
  else process.stdout.write(typed(doctorText(features, coloursFor(process.stdout))));
  if (flags.exitCode === true && features.some(({ state }) => state === 'missing'))
    process.exitCode = 1;
}

export function doctorText(features: readonly Feature[], colours: Colours): string {
  const { bold, dim } = colours;
  const blocks = features.map(({ name, state, findings }) => {
    const lines = findings.flatMap(({ state: each, text, repair }) => [
      `  ${mark(SEVERITY[each], colours)} ${printable(text)}\n`,
      ...repair.map((command) => `      ${dim('$')} ${printable(command)}\n`),
    ]);
    return `${bold(name)}: ${WORDS[state]}\n${lines.join('')}`;
  });
  return blocks.join('\n');
}
