// Runs upstream's test-cmd.sh, unchanged, on servers of ours or of upstream.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import { ensureCommand, moduleSource } from '../conformance/binaries.ts';
import { type FunctionResult, parseResults } from './results.ts';
import { makeTree } from './tree.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface FunctionsConfig {
  /** The maker of the API server and the controller manager. */
  readonly servers: 'ours' | 'upstream';
  /** A regular expression of names; empty: all functions. The script's inline parts always run. */
  readonly focus: string;
  /** The directory of results.tsv, script.log and a log for each function. It is emptied first. */
  readonly output: string;
  readonly progress: (text: string) => void;
  /** Ends the run early; finished functions are in the results. */
  readonly signal: AbortSignal;
}

export interface FunctionsRun {
  readonly results: readonly FunctionResult[];
  /** The exit status of the script. */
  readonly status: number;
}

interface Ports {
  readonly api: number;
  readonly controllerManager: number;
  readonly etcd: number;
}

/** Rejects with a UserError if etcd is missing or a program cannot be built. */
export async function runFunctions(config: FunctionsConfig): Promise<FunctionsRun> {
  const { servers, output, progress } = config;
  if (findProgram('etcd') === undefined)
    throw new UserError("no `etcd` in PATH: install Debian's etcd-server, then try again");
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const tree = mkdtempSync(join(tmpdir(), 'kubectl-commands-'));
  const [api = 0, controllerManager = 0, etcd = 0] = await freePorts(3);
  try {
    const cox = `${process.execPath} ${join(root, 'bin', 'cox.js')}`;
    const built = (name: string): string => ensureCommand(name, progress);
    const upstream = servers === 'upstream';
    makeTree({
      source: moduleSource(),
      tree,
      kubectl: built('kubectl'),
      kubectlConvert: built('kubectl-convert'),
      apiServer: upstream ? built('kube-apiserver') : `${cox} apiserver`,
      // Upstream has no provisioner of its own, and the tests count StorageClasses.
      controllerManager: upstream
        ? `${built('kube-controller-manager')} --secure-port=${controllerManager}`
        : `${cox} controller-manager --secure-port=${controllerManager} --controllers='*,-local-provisioner'`,
    });
    const status = await runScript(tree, config, { api, controllerManager, etcd });
    const file = join(output, 'results.tsv');
    return { results: existsSync(file) ? parseResults(readFileSync(file, 'utf8')) : [], status };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Runs the script. Resolves with its exit status. Its output goes to OUTPUT/script.log. */
function runScript(
  tree: string,
  { output, focus, signal }: FunctionsConfig,
  ports: Ports,
): Promise<number> {
  const temporary = join(tree, 'tmp');
  mkdirSync(temporary);
  const env = {
    ...process.env,
    PATH: [join(tree, '_output', 'bin'), process.env['PATH']].join(delimiter),
    TERM: process.env['TERM'] ?? 'xterm',
    TMPDIR: temporary,
    RESULTS_DIR: output,
    FUNCTIONS: focus,
    SECURE_API_PORT: String(ports.api),
    SECURE_CTLRMGR_PORT: String(ports.controllerManager),
    SERVICE_ACCOUNT_KEY: join(temporary, 'service-account.key'),
    // The kubeadm part of the script needs the program before it calls `make`.
    KUBEADM_PATH: '/bin/true',
    // The flag --match-server-version requires kubectl and servers of one commit, which these are
    // not.
    ALLOW_SKEW: '1',
  };
  // These are variables of the shell alone: etcd takes environment variables that begin with ETCD_
  // for flags. Any etcd from 3.4 on works.
  const variables = `ETCD_VERSION=3.4.0 ETCD_PORT=${ports.etcd} ETCD_LOGFILE='${output}/etcd.log'`;
  const command = `exec >'${output}/script.log' 2>&1; ${variables}; . hack/make-rules/test-cmd.sh`;
  const child = spawn('bash', ['-c', command], {
    cwd: tree,
    env,
    stdio: 'inherit',
    detached: true,
  });
  const interrupt = (): void =>
    void (child.pid !== undefined && process.kill(-child.pid, 'SIGTERM'));
  signal.addEventListener('abort', interrupt, { once: true });
  return new Promise((resolveStatus, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => {
      signal.removeEventListener('abort', interrupt);
      resolveStatus(status ?? -1);
    });
  });
}
