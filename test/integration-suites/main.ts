// `npm run integration-suites`: upstream's integration tests, with this API server in the place of
// upstream's. The README beside this file describes the flags.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { parseFlags } from '../../tools/flags.ts';
import { ensureEtcd, requiredVersion } from '../conformance/binaries.ts';
import { ensurePrograms, programsOf, type TestProgram } from './programs.ts';
import { formatResults, mergeResults, parseCauses, parseResults, resultsPage } from './record.ts';
import type { TestResult } from './results.ts';
import { runProgram } from './run.ts';
import { type Suite, suites } from './suites.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run integration-suites -- [flags]
  --package REGEX  only the packages whose name matches, such as '^apiserver/apply$'
  --focus REGEX    only the tests whose name matches; cannot be recorded
  --output DIR     where logs go (default .cache/integration-suites)
  --program PATH   the program of the API server, called as PATH apiserver FLAGS (default bin/cox.js)
  --record         keep the results of the packages in docs/, and make the page
  --build          build the test programs, and end
  --list           print the names of the packages, and end
`;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const flags = parseFlags('integration-suites', usage, {
    package: { type: 'string', default: '' },
    focus: { type: 'string', default: '' },
    output: { type: 'string', default: join(root, '.cache', 'integration-suites') },
    program: { type: 'string', default: join(root, 'bin', 'cox.js') },
    record: { type: 'boolean', default: false },
    build: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  });
  if (flags.record && flags.focus !== '')
    throw new UserError('--record keeps whole packages: leave out --focus');
  const wanted = new RegExp(flags.package, 'u');
  const chosen = suites.map((suite): readonly [Suite, readonly TestProgram[]] => [
    suite,
    programsOf(suite).filter(({ name }) => wanted.test(name)),
  ]);
  if (flags.list) {
    for (const { name } of chosen.flatMap(([, programs]) => programs)) console.log(name);
    return;
  }
  const unbuilt = ensurePrograms(
    chosen.flatMap(([, programs]) => programs),
    say,
  );
  if (flags.build) return;
  const output = resolve(flags.output);
  mkdirSync(output, { recursive: true });
  const options = {
    program: resolve(flags.program),
    etcd: ensureEtcd(say),
    output,
    focus: flags.focus,
  };
  const results: TestResult[] = [];
  for (const [{ skip }, programs] of chosen)
    for (const program of programs) {
      const own = unbuilt.includes(program.name)
        ? [notBuilt(program.name)]
        : await runProgram(program, { ...options, skip });
      results.push(...own);
      print(program.name, own);
      // Written after each package: a run that is interrupted has recorded something, too.
      if (flags.record) record(own);
    }
  print('\nall', results);
  if (countOf(results, 'failed') > 0 || results.length === 0) {
    say(`logs: ${output}`);
    process.exitCode = 1;
  }
}

const notBuilt = (name: string): TestResult => ({
  package: name,
  test: '[program]',
  outcome: 'failed',
  message: 'it cannot be built',
});

function record(results: readonly TestResult[]): void {
  const file = join(root, 'docs', 'integration-suites.tsv');
  const earlier = existsSync(file) ? parseResults(readFileSync(file, 'utf8')) : [];
  const packages = suites.flatMap((suite) => programsOf(suite).map(({ name }) => name));
  const all = mergeResults(packages, earlier, results);
  const causes = parseCauses(readFileSync(new URL('causes.tsv', import.meta.url), 'utf8'));
  writeFileSync(file, formatResults(all));
  const page = resultsPage(requiredVersion(), all, causes);
  writeFileSync(join(root, 'docs', 'integration-suites.md'), page);
}

function print(name: string, results: readonly TestResult[]): void {
  for (const { outcome, test, message } of results)
    if (outcome === 'failed' && !name.startsWith('\n'))
      process.stdout.write(`failed\t${name} ${test}\t${message}\n`);
  const counts = (['passed', 'failed', 'skipped'] as const)
    .map((outcome) => `${countOf(results, outcome)} ${outcome}`)
    .join(', ');
  process.stdout.write(name === '\nall' ? `\n${counts}\n` : `${name}: ${counts}\n`);
}

const countOf = (results: readonly TestResult[], outcome: TestResult['outcome']): number =>
  results.filter((result) => result.outcome === outcome).length;

main().catch((error: unknown) => {
  say(
    error instanceof UserError
      ? `integration-suites: ${error.message}`
      : String((error as Error)?.stack ?? error),
  );
  process.exitCode = 1;
});
