// `npm run conformance -- critest`: upstream's tests of container runtimes against our process runtime, in a room
// of namespaces where they cannot change the machine. The README beside this file describes it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { parseFlags } from '../../tools/flags.ts';
import { cacheDir, requiredVersion } from '../conformance/binaries.ts';
import { ensureImages } from '../conformance/images.ts';
import { ensureCritestImages } from './images.ts';
import { judge, parseReasons, parseReport } from './results.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '..', '..');
const usage = `usage: npm run conformance -- critest [flags]
  --focus REGEXP  only specs whose names match
  --output DIR    where the report and logs go (default .cache/critest)
  --if-built      do nothing, and say so, where critest has not been built yet
`;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Returns the version of cri-tools that go.mod requires. */
function version(): string {
  const goMod = readFileSync(join(here, 'go.mod'), 'utf8');
  const found = /sigs\.k8s\.io\/cri-tools (v\S+)/.exec(goMod)?.[1];
  if (found === undefined) throw new Error('test/critest/go.mod does not require cri-tools');
  return found;
}

const cache = (): string => join(homedir(), '.cache', 'coxswain', 'critest');
const binary = (): string => join(cache(), `critest-${version()}`);

/** Builds critest unless it is there. Throws a UserError if that fails. */
function ensureCritest(): string {
  const path = binary();
  if (existsSync(path)) return path;
  if (findProgram('go') === undefined)
    throw new UserError('critest is built with Go: install Go 1.26 or later (https://go.dev/dl)');
  say(`building ${path}; this takes some minutes, once`);
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}.partial`;
  const { status } = spawnSync(
    'go',
    ['test', '-p', '1', '-c', '-o', partial, 'sigs.k8s.io/cri-tools/cmd/critest'],
    {
      cwd: here,
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  if (status !== 0) throw new UserError('go could not build critest');
  renameSync(partial, path);
  return path;
}

async function main(): Promise<number> {
  const flags = parseFlags('critest', usage, {
    focus: { type: 'string' },
    output: { type: 'string', default: join(root, '.cache', 'critest') },
    'if-built': { type: 'boolean', default: false },
  });
  if (flags['if-built'] && !existsSync(binary())) {
    say(`critest has not been built here: npm run conformance -- critest builds ${binary()}`);
    return 0;
  }
  if (!isRoot()) throw new UserError('critest needs root, for the namespaces that it runs in');
  const critest = ensureCritest();
  const images = join(cache(), 'images');
  const archives = (await ensureImages(cacheDir(requiredVersion()), say)).slice(0, 2);
  ensureCritestImages(archives, images);
  const output = resolve(flags.output);
  mkdirSync(output, { recursive: true });
  rmSync(join(output, 'junit.xml'), { force: true });
  const focus = flags.focus === undefined ? [] : ['-ginkgo.focus', flags.focus];
  spawnSync(
    join(here, 'room.sh'),
    [
      output,
      process.execPath,
      '--import',
      'tsx',
      join(here, 'inside.ts'),
      critest,
      images,
      '/out',
      ...focus,
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return report(join(output, 'junit.xml'), focus.length > 0);
}

/** Prints the results. Returns the exit code: 1 if a spec did not pass for no known reason. */
function report(path: string, partial: boolean): number {
  if (!existsSync(path)) throw new UserError('critest wrote no report: see its output above');
  const all = parseReport(readFileSync(path, 'utf8'));
  // With a focus, ginkgo reports every other spec as skipped.
  const results = partial ? all.filter(({ state }) => state !== 'skipped') : all;
  const reasons = parseReasons(readFileSync(join(here, 'reasons.tsv'), 'utf8'));
  const { passed, failed, skipped, unexpected, outdated } = judge(results, reasons);
  say(
    `critest ${version()}: ${passed} of ${results.length} specs passed, ${failed.length} failed, ` +
      `${skipped.length} skipped`,
  );
  for (const { name, state, message } of unexpected) say(`  ${state}: ${name}\n    ${message}`);
  if (!partial)
    for (const pattern of outdated) say(`  reasons.tsv: all specs with ${pattern} pass now`);
  return unexpected.length + (partial ? 0 : outdated.length) === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  say(error.message);
  process.exitCode = 2;
}
