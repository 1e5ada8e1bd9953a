// `npm run kubectl-commands`: runs upstream's test-cmd.sh, unchanged, with `cox` in the place of
// its servers. The README beside this file describes the flags.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { parseFlags } from '../../tools/flags.ts';
import { judge, parseCauses, type FunctionResult } from './results.ts';
import { type FunctionsRun, runFunctions } from './run.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run kubectl-commands -- [flags]
  --focus REGEX   only the functions whose name matches (the script's inline parts always run)
  --reference     upstream's own servers in the place of ours
  --output DIR    where results.tsv and the functions' outputs go (default .cache/kubectl-commands)
`;

const log = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const flags = parseFlags('kubectl-commands', usage, {
    focus: { type: 'string', default: '' },
    reference: { type: 'boolean', default: false },
    output: { type: 'string', default: join(root, '.cache', 'kubectl-commands') },
  });
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const output = resolve(flags.output);
  const run = await runFunctions({
    servers: flags.reference ? 'upstream' : 'ours',
    focus: flags.focus,
    output,
    progress: log,
    signal: stop.signal,
  });
  report(run, output, flags.focus === '' && !flags.reference);
}

/**
 * Prints one line per function. Sets the exit status to 1 if an outcome is not the recorded one.
 */
function report({ results, status }: FunctionsRun, output: string, complete: boolean): void {
  const causes = parseCauses(readFileSync(join(here, 'causes.tsv'), 'utf8'));
  for (const { name, outcome, seconds } of results) {
    if (outcome !== 'skipped')
      process.stdout.write(`${outcome}\t${seconds} s\t${name}\t${causes.get(name) ?? ''}\n`);
  }
  const count = (outcome: FunctionResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  process.stdout.write(
    `\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`,
  );
  const problems = judge(results, causes, { scriptStatus: status, complete });
  for (const problem of problems) log(problem);
  if (problems.length > 0) {
    log(`outputs: ${output}`);
    process.exitCode = 1;
  }
}

main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof UserError ? error.message : String((error as Error)?.stack ?? error)}\n`,
  );
  process.exitCode = 1;
});
