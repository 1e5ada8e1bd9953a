// The smoke set of upstream's conformance tests against a cluster of `npm run up`. The tests run if
// `npm run conformance` has built the suite; they do not build it, which takes long.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtBinaries, suiteTests, type Binaries } from '../conformance/binaries.ts';
import { startCluster, type RunningCluster } from '../conformance/cluster.ts';
import { readNeeds, testKey } from '../conformance/needs.ts';
import { formatResult } from '../conformance/results.ts';
import { runSuite } from '../conformance/run.ts';
import { chooseTests, parseSelection } from '../conformance/selection.ts';
import { smokeTests } from '../conformance/smoke.ts';
import { named, temporaryDir } from './harness.ts';

const binaries = builtBinaries();
const missing =
  binaries === undefined
    ? "upstream's suite has not been built: npm run conformance -- --smoke"
    : undefined;

describe.skipIf(missing !== undefined)(named("upstream's smoke set", missing), () => {
  const dir = temporaryDir();
  let cluster: RunningCluster | undefined;

  beforeAll(async () => {
    const { kubectl } = binaries as Binaries;
    cluster = await startCluster({
      simulated: true,
      csiDriver: false,
      nodes: 2,
      logFile: join(dir.path, 'cluster.log'),
      kubectl,
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    dir.remove();
  });

  test('passes', async () => {
    const tests = chooseTests(
      suiteTests(binaries as Binaries),
      readNeeds(),
      parseSelection({ smoke: true }),
    );
    expect(tests.map(testKey).sort()).toEqual([...smokeTests].sort());
    const { results, suiteFailures } = await runSuite({
      binaries: binaries as Binaries,
      kubeconfig: (cluster as RunningCluster).kubeconfig,
      tests,
      parallel: 4,
      outputDir: dir.path,
      onTest: () => undefined,
      signal: AbortSignal.timeout(200_000),
    });
    expect(suiteFailures).toEqual([]);
    expect(results.filter(({ outcome }) => outcome !== 'passed').map(formatResult)).toEqual([]);
    expect(results).toHaveLength(tests.length);
  });
});
