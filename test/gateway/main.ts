// `npm run gateway`: the conformance suite of the Gateway API against a cluster of our own. The
// README beside this file describes the flags.

import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { parseFlags } from '../../tools/flags.ts';
import { cleanUp } from '../conformance/clean-up.ts';
import { importImages } from '../conformance/images.ts';
import { builtPrograms, ensurePrograms, type GatewayPrograms } from './programs.ts';
import { parseResults, summary } from './results.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run gateway -- [flags]
  --test NAME        only this test, such as HTTPRouteWeight
  --core             only the tests of the core profiles
  --profiles NAMES   profiles, separated by commas (default GATEWAY-HTTP,GATEWAY-GRPC)
  --kubeconfig FILE  run against that cluster, which has the definitions, the image and an address for each Gateway
  --output DIR       where logs and the report go (default .cache/gateway)
  --if-built         do nothing, and say so, where the suite has not been built yet
`;
/** Addresses of loopback: Gateways of the suite share ports, so each needs its own address. */
const FLAGS = `--runtime containerd --pod-cidr 10.203.0.0/24 --service-cidr 10.213.0.0/16 --no-dns
  --ingress --ingress-address 127.203.0.1 --gateway-addresses 127.203.1.0/24 --verbose`.split(
  /\s+/,
);
/** The features of the core. The suite tests others only if the implementation names them. */
const CORE = ['Gateway', 'HTTPRoute', 'ReferenceGrant', 'GRPCRoute'];
const READY_MS = 120_000;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

interface Options {
  readonly test: string | undefined;
  readonly core: boolean;
  readonly profiles: string;
  readonly output: string;
}

async function main(): Promise<void> {
  const flags = parseFlags('gateway', usage, {
    test: { type: 'string' },
    core: { type: 'boolean', default: false },
    profiles: { type: 'string', default: 'GATEWAY-HTTP,GATEWAY-GRPC' },
    kubeconfig: { type: 'string' },
    output: { type: 'string', default: join(root, '.cache', 'gateway') },
    'if-built': { type: 'boolean', default: false },
  });
  if (flags['if-built'] && builtPrograms() === undefined)
    return say('gateway: the suite has not been built (npm run gateway)');
  if (findProgram('kubectl') === undefined)
    throw new UserError('there is no kubectl in PATH (apt-get install kubernetes-client)');
  const options = {
    test: flags.test,
    core: flags.core,
    profiles: flags.profiles,
    output: resolve(flags.output),
  };
  mkdirSync(options.output, { recursive: true });
  const programs = ensurePrograms(say);
  const given = flags.kubeconfig;
  const passed =
    given === undefined
      ? await onOwnCluster(programs, options)
      : await runSuite(programs, resolve(given), options);
  if (!passed) process.exitCode = 1;
}

async function onOwnCluster(programs: GatewayPrograms, options: Options): Promise<boolean> {
  if (!isRoot()) throw new UserError('the pods of the suite need containerd, and that needs root');
  const dir = mkdtempSync(join(tmpdir(), 'cox-gateway-'));
  const dataDir = join(dir, 'cluster');
  const kubeconfig = join(dataDir, 'kubeconfig');
  const stop = await startCluster(dataDir, join(options.output, 'cluster.log'));
  try {
    importImages(join(dataDir, 'containerd', 'containerd.sock'), [programs.image]);
    kubectl(kubeconfig, 'apply', '--server-side', '-f', programs.definitions);
    await accepted(kubeconfig);
    return await runSuite(programs, kubeconfig, options);
  } finally {
    const namespaces = ['infra', 'app-backend', 'web-backend'].map(
      (name) => `gateway-conformance-${name}`,
    );
    kubectl(
      kubeconfig,
      'delete',
      'namespaces',
      '--ignore-not-found',
      '--timeout=60s',
      ...namespaces,
    );
    kubectl(kubeconfig, 'delete', 'pods', '--all', '--all-namespaces', '--timeout=60s');
    await stop();
    cleanUp(dir);
  }
}

function kubectl(kubeconfig: string, ...args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync('kubectl', [`--kubeconfig=${kubeconfig}`, ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) say(`kubectl ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

/** Waits until the class is accepted. The controller creates it when it finds the definitions. */
async function accepted(kubeconfig: string): Promise<void> {
  const deadline = systemClock.monotonic() + READY_MS;
  for (;;) {
    const { stdout } = spawnSync(
      'kubectl',
      [
        `--kubeconfig=${kubeconfig}`,
        'get',
        'gatewayclass',
        'coxswain',
        '--output=jsonpath={.status.conditions[?(@.type=="Accepted")].status}',
      ],
      { encoding: 'utf8' },
    );
    if (stdout === 'True') return;
    if (systemClock.monotonic() > deadline)
      throw new UserError('the GatewayClass coxswain has not been accepted');
    await systemClock.sleep(200);
  }
}

/** Runs `npm run up` and waits until it is ready. Returns a function that stops it. */
async function startCluster(dataDir: string, logFile: string): Promise<() => Promise<void>> {
  writeFileSync(logFile, '');
  const args = [
    'run',
    '--silent',
    'up',
    '--',
    '--data-dir',
    dataDir,
    '--secure-port',
    '0',
    '--quiet',
    ...FLAGS,
  ];
  const child = spawn('npm', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const last: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    appendFileSync(logFile, `${line}\n`);
    last.push(line);
    if (last.length > 20) last.shift();
  });
  const ended = new Promise<void>((resolveEnded) => child.once('close', () => resolveEnded()));
  const stop = async (): Promise<void> => {
    // The signal goes to the whole process group: npm does not always pass it on.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  };
  const ready = new Promise<void>((resolveReady, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('cluster ready')) resolveReady();
    });
    child.once('error', reject);
    void ended.then(() => reject(new UserError(`no cluster was started:\n${last.join('\n')}`)));
  });
  try {
    await ready;
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** Runs the suite. Returns whether every test has passed. */
async function runSuite(
  { suite, version }: GatewayPrograms,
  kubeconfig: string,
  options: Options,
): Promise<boolean> {
  const { test, core, profiles, output } = options;
  const log = join(output, 'output.log');
  const args = [
    '-test.v',
    '-test.run=TestConformance',
    '-test.timeout=60m',
    '--gateway-class=coxswain',
    `--conformance-profiles=${profiles}`,
    '--cleanup-base-resources=false',
    '--organization=coxswain',
    '--project=coxswain',
    '--url=https://example.invalid',
    `--version=${version}`,
    '--contact=none',
    `--report-output=${join(output, 'report.yaml')}`,
    // One address of the range above, and one outside of it.
    '--usable-address=127.203.1.200',
    '--unusable-address=127.203.2.1',
    ...(core ? [`--supported-features=${CORE.join(',')}`] : []),
    ...(test === undefined ? [] : [`--run-test=${test}`]),
  ];
  const child = spawn(suite, args, {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const file = createWriteStream(log);
  child.stderr.pipe(file, { end: false });
  createInterface({ input: child.stdout }).on('line', (line) => {
    file.write(`${line}\n`);
    const name = /^=== RUN {3}TestConformance\/([^/\s]+)$/.exec(line)?.[1];
    if (name !== undefined) say(`… ${name}`);
  });
  const status = await new Promise<number | null>((resolveStatus) =>
    child.once('close', resolveStatus),
  );
  await new Promise<void>((written) => void file.end(() => written()));
  const results = parseResults(readFileSync(log, 'utf8'));
  for (const { outcome, name, seconds } of results) {
    if (outcome !== 'skipped')
      process.stdout.write(`${outcome}  ${seconds.toFixed(1).padStart(6)} s  ${name}\n`);
  }
  process.stdout.write(`Gateway API ${version}: ${summary(results)}; the output is in ${log}\n`);
  return status === 0;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  say(`gateway: ${error.message}`);
  process.exitCode = 1;
}
