// `npm run conformance`: builds the programs, starts clusters, runs the tests, and reports the
// results. The README beside this file describes the flags.

import { readFileSync, writeFileSync, mkdirSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UserError } from '#cluster/user-error.ts';
import { builtBinaries, cacheDir, suiteTests, ensureBinaries, type Binaries } from './binaries.ts';
import { type RunningCluster, startCluster } from './cluster.ts';
import { recordSwaps, type SwapResult } from '../swap/record.ts';
import { startSwapCluster } from '../swap/cluster.ts';
import { ensureSkewProgram } from '../skew/programs.ts';
import { ensureSwapPrograms, type SwapPrograms } from '../swap/programs.ts';
import {
  isTestOf,
  parseSwaps,
  recordedSwaps,
  type Swap,
  swapName,
  worksSimulated,
} from '../swap/roles.ts';
import { runKubectlSet } from './kubectl-set.ts';
import { ensureImages, importImages } from './images.ts';
import { type Cause, conformanceDocument, othersDocument, parseCauses } from './document.ts';
import {
  type Needs,
  needsCsiDriver,
  type Nodes,
  readNeeds,
  runsSimulated,
  testKey,
  type TestSet,
} from './needs.ts';
import { formatResult, mergeResults, parseResults, type TestResult } from './results.ts';
import { runEach } from './run-each.ts';
import { runSuite } from './run.ts';
import { chooseTests, doneTests, parseSelection } from './selection.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const recordedResults = join(root, 'docs', 'conformance.tsv');
const page = join(root, 'docs', 'conformance.md');
const othersPage = join(root, 'docs', 'conformance-others.md');
const usage = `usage: npm run conformance -- [flags]
       npm run conformance -- critest [flags]: container runtimes (test/critest/README.md)
  --focus REGEX      only tests whose name matches
  --skip REGEX       not tests whose name matches
  --set A,C,S,P,K,N  only tests that need this: A the API server, C controllers, S the scheduler,
                     P pod status, K containers, N network
                     more sets, without conformance tests, which run only if they are named:
                     default: tests that upstream enables by default, without slow: those with
                     the label [Slow]; policy: network policies; dra: dynamic resource allocation;
                     csi: the reference CSI driver; kubectl: the scripts of test/cmd;
                     node: all tests labelled [NodeConformance], each of which is in another set, too
  --smoke            twenty quick tests of several SIGs
  --remaining        only tests that have neither passed nor been skipped in the last recorded run
  --parallel N       so many tests at a time (default 4); serial ones follow alone
  --nodes N          so many real nodes, 2 or 3 (default 2; more for tests that need more)
  --network N        from 0 to 3 (default 0): runs at the same time need addresses of their own
  --timeout SECONDS  a test that takes longer has failed (default: what the tests themselves allow)
  --kubeconfig FILE  run against that cluster instead of one of our own
  --swap SWAPS       on a cluster of upstream's programs and one role of ours (ROLE=ours), or the other
                     way round (ROLE=upstream), the tests of the role's SIG; several with commas; all;
                     kubelet=v1.34.4: upstream's kubelet of two versions before
  --pull             let the published images be pulled, rather than make them here (needs a network)
  --output DIR       where logs and reports go (default .cache/conformance)
  --list             say which tests would run, and end
  --record           keep the results in docs/conformance.tsv and make docs/conformance.md from them
  --if-built         do nothing, and say so, where the suite has not been built yet
`;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      focus: { type: 'string' },
      skip: { type: 'string' },
      set: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      remaining: { type: 'boolean', default: false },
      parallel: { type: 'string', default: '4' },
      kubeconfig: { type: 'string' },
      nodes: { type: 'string', default: '2' },
      network: { type: 'string', default: '0' },
      timeout: { type: 'string' },
      swap: { type: 'string' },
      output: { type: 'string', default: join(root, '.cache', 'conformance') },
      pull: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      'if-built': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (flags.help) return void process.stdout.write(usage);
  const parallel = Number(flags.parallel);
  if (!Number.isInteger(parallel) || parallel < 1)
    throw new UserError('--parallel: a whole number from 1 was expected');
  const nodes = Number(flags.nodes);
  if (nodes !== 2 && nodes !== 3) throw new UserError('--nodes: 2 or 3 was expected');
  if (!/^[0-3]$/.test(flags.network))
    throw new UserError('--network: a number from 0 to 3 was expected');
  const timeoutSeconds = flags.timeout === undefined ? undefined : Number(flags.timeout);
  if (timeoutSeconds !== undefined && !(Number.isInteger(timeoutSeconds) && timeoutSeconds > 0)) {
    throw new UserError('--timeout: a whole number of seconds from 1 was expected');
  }
  const swapped = flags.swap === undefined ? undefined : parseSwaps(flags.swap);
  if (flags.swap !== undefined && swapped === undefined)
    throw new UserError(`--swap takes all, or some of ${recordedSwaps.map(swapName).join(', ')}`);
  if (swapped !== undefined && flags.kubeconfig !== undefined)
    throw new UserError('--swap starts clusters of its own: leave out --kubeconfig');
  const selection = parseSelection(flags);
  if (flags['if-built'] && builtBinaries() === undefined) {
    return say(
      "conformance: skipped, upstream's suite has not been built here (npm run conformance builds it)",
    );
  }

  const binaries = ensureBinaries(say);
  const needs = readNeeds();
  const kubectlTests = [...needs.keys()].filter((key) => needs.get(key) === 'kubectl');
  const done = flags.remaining ? doneTests(readRecorded()) : undefined;
  const chosen = chooseTests([...suiteTests(binaries), ...kubectlTests], needs, selection, done);
  if (flags.list)
    return void process.stdout.write(
      chosen.map((name) => `${needs.get(testKey(name)) ?? '?'}\t${name}\n`).join(''),
    );
  if (chosen.length === 0) throw new UserError('no test is chosen by these flags');

  const stop = new AbortController();
  // A terminal and the programs above this one send the signal, too: a second one must not end this
  // process before its cluster has ended.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const options = {
    binaries,
    parallel,
    pull: flags.pull,
    nodes,
    network: Number(flags.network),
    output: resolve(flags.output),
    timeoutSeconds,
    signal: stop.signal,
  };
  if (swapped !== undefined) return await runSwaps(swapped, chosen, needs, options, flags.record);
  const results: TestResult[] = [];
  const suiteFailures: string[] = [];
  const ofKubectl = chosen.filter((name) => needs.get(testKey(name)) === 'kubectl');
  if (ofKubectl.length > 0) {
    if (flags.kubeconfig !== undefined)
      throw new UserError('the set kubectl starts servers of its own: leave out --kubeconfig');
    const outputDir = join(options.output, 'kubectl');
    const { signal } = options;
    const report = await runKubectlSet({ tests: ofKubectl, outputDir, progress: say, signal });
    results.push(...report.results);
    suiteFailures.push(...report.suiteFailures);
  }
  const ofSuite = chosen.filter((name) => !ofKubectl.includes(name));
  const groups = groupsOf(ofSuite, needs, flags.kubeconfig, options);
  for (const group of groups) {
    if (stop.signal.aborted) break;
    try {
      const report = await runGroup(group, options);
      results.push(...report.results);
      suiteFailures.push(...report.suiteFailures);
    } catch (error) {
      // The results of the other groups are kept.
      if (!(error instanceof UserError)) throw error;
      suiteFailures.push(`${group.on}: ${error.message}`);
    }
  }

  const sorted = mergeResults([], results);
  report(sorted, chosen.length, suiteFailures, options.output);
  if (flags.record) record(binaries, sorted);
}

/** Prints results and their counts, and keeps them in `output`. */
function report(
  results: readonly TestResult[],
  chosen: number,
  suiteFailures: readonly string[],
  output: string,
): void {
  const lines = results.map((result) => `${formatResult(result)}\n`).join('');
  process.stdout.write(lines);
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, 'results.tsv'), lines);
  for (const failure of suiteFailures) say(`outside of any test: ${failure}`);
  const count = (outcome: TestResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  const notRun = chosen - results.length;
  process.stdout.write(
    `\n${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} ` +
      `skipped${notRun > 0 ? `, ${notRun} not run` : ''}\n`,
  );
  if (count('failed') > 0 || notRun > 0 || suiteFailures.length > 0) process.exitCode = 1;
}

/** Settings that all groups of a run share. */
interface Options {
  readonly binaries: Binaries;
  readonly parallel: number;
  /** Whether the published images are pulled; otherwise they are made on this machine. */
  readonly pull: boolean;
  /** The number of real nodes. */
  readonly nodes: number;
  /** The number of its addresses. */
  readonly network: number;
  readonly output: string;
  /** The limit of each test's duration. */
  readonly timeoutSeconds: number | undefined;
  readonly signal: AbortSignal;
}

/** Tests that run on the same cluster. */
interface Group {
  readonly tests: readonly string[];
  /** A name for the cluster, for people. */
  readonly on: string;
  /** The name of the group's folder of logs and reports. */
  readonly folder: string;
  /** Whether its containers are real ones of this machine, which need images. */
  readonly needsImages: boolean;
  /** Whether each test runs by itself: some end parts that others use. Default: false. */
  readonly alone?: boolean;
  /**
   * @param outputDir an existing directory
   * @param archives of images, which the nodes pull from a registry
   */
  start(outputDir: string, archives: readonly string[]): Promise<RunningCluster>;
}

function groupsOf(
  chosen: readonly string[],
  needs: Needs,
  kubeconfig: string | undefined,
  { binaries, nodes, network }: Options,
): readonly Group[] {
  if (kubeconfig !== undefined) {
    const running = { kubeconfig, containerdSockets: [], stop: async () => undefined };
    return [
      {
        tests: chosen,
        on: kubeconfig,
        folder: 'containers',
        needsImages: false,
        start: async () => running,
      },
    ];
  }
  const kinds = {
    simulated: { on: 'simulated nodes', simulated: true, csiDriver: false },
    containers: { on: 'containerd', simulated: false, csiDriver: false },
    csi: { on: 'containerd, with the CSI driver', simulated: false, csiDriver: true },
  } as const;
  const kindOf = (set: TestSet): keyof typeof kinds =>
    runsSimulated(set) ? 'simulated' : needsCsiDriver(set) ? 'csi' : 'containers';
  const usual = { simulated: 0, containers: nodes, csi: 1 };
  const tests = new Map<string, { kind: keyof typeof kinds; on: Nodes; names: string[] }>();
  for (const name of chosen) {
    const key = testKey(name);
    const kind = kindOf(needs.get(key) ?? 'N');
    const needed = needs.nodes.get(key) ?? 0;
    const own = typeof needed === 'number' ? Math.max(usual[kind], needed) : needed;
    const folder = kind === 'simulated' || own === usual[kind] ? kind : `${kind}-${own}`;
    const group = tests.get(folder) ?? { kind, on: own, names: [] };
    tests.set(folder, group);
    group.names.push(name);
  }
  return [...tests]
    .toSorted(([a, { kind: first }], [b, { kind: second }]) =>
      first === second ? (a < b ? -1 : 1) : order(first) - order(second),
    )
    .map(([folder, { kind, on: places, names }]): Group => {
      const { on, simulated, csiDriver } = kinds[kind];
      return {
        tests: names,
        on: simulated ? on : `${on}, nodes: ${places}`,
        folder,
        needsImages: !simulated,
        alone: places === 'static',
        start: (outputDir, archives) =>
          startCluster({
            archives,
            simulated,
            csiDriver,
            nodes: places,
            network,
            logFile: join(outputDir, 'cluster.log'),
            kubectl: binaries.kubectl,
          }),
      };
    });
}

/** Tests on simulated nodes are the quickest. */
const order = (kind: string): number => ['simulated', 'containers', 'csi'].indexOf(kind);

async function runGroup(group: Group, options: Options): ReturnType<typeof runSuite> {
  const { tests, on, alone = false } = group;
  const parallel = alone ? 1 : Math.min(options.parallel, tests.length);
  const { binaries, timeoutSeconds, signal } = options;
  const outputDir = join(options.output, group.folder);
  mkdirSync(outputDir, { recursive: true });
  const archives =
    group.needsImages && !options.pull ? await ensureImages(cacheDir(binaries.version), say) : [];
  const cluster = await group.start(outputDir, archives);
  try {
    // The signal to end may have come while the cluster started.
    if (signal.aborted) return { results: [], suiteFailures: [] };
    for (const socket of cluster.containerdSockets) importImages(socket, archives);
    cluster.startPods?.();
    say(`${tests.length} tests on ${on}, ${parallel} at a time`);
    let done = 0;
    return await (timeoutSeconds === undefined && !alone ? runSuite : runEach)({
      binaries,
      kubeconfig: cluster.kubeconfig,
      ...(cluster.kubeletRoot !== undefined && { kubeletRoot: cluster.kubeletRoot }),
      ...(cluster.nodes !== undefined && { nodes: cluster.nodes }),
      ...(cluster.immediateVolumes !== undefined && { immediateVolumes: true }),
      ...(cluster.provider !== undefined && { provider: cluster.provider }),
      ...(cluster.distribution !== undefined && { distribution: cluster.distribution }),
      ...(cluster.ssh !== undefined && { sshKey: cluster.ssh.clientKey }),
      tests,
      parallel,
      outputDir,
      onTest: (name, outcome) => say(`[${++done}/${tests.length}] ${outcome} ${name}`),
      signal,
      ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    });
  } finally {
    await cluster.stop();
  }
}

/** Runs the tests of each swapped role's SIG, one cluster after the other. */
async function runSwaps(
  chosenSwaps: readonly Swap[],
  chosen: readonly string[],
  needs: Needs,
  options: Options,
  keep: boolean,
): Promise<void> {
  const programs = ensureSwapPrograms(say);
  const programsOf = ({ role, version }: Swap): SwapPrograms =>
    version === undefined
      ? programs
      : {
          ...programs,
          upstream: { ...programs.upstream, [role]: ensureSkewProgram(version, 'kubelet', say) },
        };
  const results: SwapResult[] = [];
  const suiteFailures: string[] = [];
  let expected = 0;
  for (const swap of chosenSwaps) {
    const name = swapName(swap);
    const ofRole = chosen.filter((test) => isTestOf(swap, test));
    const isSimulated = (test: string): boolean =>
      worksSimulated(swap.role) && runsSimulated(needs.get(testKey(test)) ?? 'N');
    for (const simulated of [true, false]) {
      const tests = ofRole.filter((test) => isSimulated(test) === simulated);
      if (tests.length === 0 || options.signal.aborted) continue;
      expected += tests.length;
      const { kubectl } = options.binaries;
      const group: Group = {
        tests,
        on: simulated ? `${name}, simulated nodes` : name,
        folder: join('swap', name, simulated ? 'simulated' : 'containers'),
        needsImages: !simulated,
        start: (logDir, archives) =>
          startSwapCluster({
            archives,
            swap,
            simulated,
            network: options.network,
            programs: programsOf(swap),
            kubectl,
            logDir,
          }),
      };
      try {
        const { results: some, suiteFailures: failures } = await runGroup(group, options);
        results.push(...some.map((result) => ({ ...result, swap: name })));
        suiteFailures.push(...failures.map((failure) => `${name}: ${failure}`));
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        suiteFailures.push(`${name}: ${error.message}`);
      }
    }
  }
  const named = results.map((result) => ({ ...result, name: `${result.swap}: ${result.name}` }));
  report(named, expected, suiteFailures, options.output);
  if (keep) recordSwaps(join(root, 'docs'), results, options.binaries.version, readCauses());
}

const readCauses = (): readonly Cause[] =>
  parseCauses(readFileSync(new URL('./causes.tsv', import.meta.url), 'utf8'));

const readRecorded = (): readonly TestResult[] =>
  existsSync(recordedResults) ? parseResults(readFileSync(recordedResults, 'utf8')) : [];

/** Writes results. Results of tests that did not run this time stay. */
function record({ version }: Binaries, results: readonly TestResult[]): void {
  const all = mergeResults(readRecorded(), results);
  const head =
    '# Generated by `npm run conformance -- --record`: outcome, seconds, test, reason.\n';
  writeFileSync(recordedResults, head + all.map((result) => `${formatResult(result)}\n`).join(''));
  const input = { version, needs: readNeeds(), results: all, causes: readCauses() };
  writeFileSync(page, conformanceDocument(input));
  writeFileSync(othersPage, othersDocument(input));
}

try {
  await main();
} catch (error) {
  if (
    !(error instanceof UserError) &&
    !(error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  )
    throw error;
  say(`conformance: ${error.message}`);
  process.exitCode = 1;
}
