// `npm run kubectl-commands`: runs upstream's test-cmd.sh, unchanged, with `cox` in the place of
// its servers. The README beside this file describes the flags.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findProgram } from '#cluster/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { ensureCommand, moduleSource } from '../conformance/binaries.ts';
import { type FunctionResult, judge, parseCauses, parseResults } from './results.ts';
import { makeTree } from './tree.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run kubectl-commands -- [flags]
  --focus REGEX   only the functions whose name matches (the script's inline parts always run)
  --reference     upstream's own servers in the place of ours
  --output DIR    where results.tsv and the functions' outputs go (default .cache/kubectl-commands)
`;

const log = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      focus: { type: 'string', default: '' },
      reference: { type: 'boolean', default: false },
      output: { type: 'string', default: join(root, '.cache', 'kubectl-commands') },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) return void process.stdout.write(usage);
  const etcd = findProgram('etcd');
  if (etcd === undefined)
    throw new UserError("no `etcd` in PATH: install Debian's etcd-server, then try again");

  const output = resolve(flags.output);
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const tree = mkdtempSync(join(tmpdir(), 'kubectl-commands-'));
  try {
    const cox = `${process.execPath} ${join(root, 'bin', 'cox.js')}`;
    const built = (name: string): string => ensureCommand(name, log);
    makeTree({
      source: moduleSource(),
      tree,
      kubectl: built('kubectl'),
      kubectlConvert: built('kubectl-convert'),
      apiServer: flags.reference ? built('kube-apiserver') : `${cox} apiserver`,
      // Upstream has no provisioner of its own, and the tests count StorageClasses.
      controllerManager: flags.reference
        ? built('kube-controller-manager')
        : `${cox} controller-manager --controllers='*,-local-provisioner'`,
    });
    const status = await runScript(tree, output, flags.focus);
    report(output, status, flags.focus === '' && !flags.reference);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/**
 * Runs the script. Resolves with its exit status. Its output goes to OUTPUT/script.log and, one
 * line per function, to the terminal.
 */
function runScript(tree: string, output: string, focus: string): Promise<number> {
  const temporary = join(tree, 'tmp');
  mkdirSync(temporary);
  const env = {
    ...process.env,
    PATH: [join(tree, '_output', 'bin'), process.env['PATH']].join(delimiter),
    TERM: process.env['TERM'] ?? 'xterm',
    TMPDIR: temporary,
    RESULTS_DIR: output,
    FUNCTIONS: focus,
    SERVICE_ACCOUNT_KEY: join(temporary, 'service-account.key'),
    // The kubeadm part of the script needs the program before it calls `make`.
    KUBEADM_PATH: '/bin/true',
    // The flag --match-server-version requires kubectl and servers of one commit, which these are
    // not.
    ALLOW_SKEW: '1',
  };
  // These are variables of the shell alone: etcd takes environment variables that begin with ETCD_
  // for flags. Any etcd from 3.4 on works.
  const variables = `ETCD_VERSION=3.4.0 ETCD_LOGFILE='${output}/etcd.log'`;
  const command = `exec >'${output}/script.log' 2>&1; ${variables}; . hack/make-rules/test-cmd.sh`;
  const child = spawn('bash', ['-c', command], {
    cwd: tree,
    env,
    stdio: 'inherit',
    detached: true,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => process.kill(-(child.pid ?? 0), signal));
  return new Promise((resolveStatus, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => resolveStatus(status ?? -1));
  });
}

/**
 * Prints one line per function. Sets the exit status to 1 if an outcome is not the recorded one.
 */
function report(output: string, status: number, complete: boolean): void {
  const file = join(output, 'results.tsv');
  const results = existsSync(file) ? parseResults(readFileSync(file, 'utf8')) : [];
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
