// docs/faults.md, docs/faults-of-components.md and docs/exploration.md: their examples are taken out
// of the pages and run.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { deployments, replicaSets } from '#api/groups/apps/v1/index.ts';
import { configMaps, nodes, pods } from '#api/groups/core/v1/index.ts';
import { checkedScenario } from '../simulate/scenario.ts';
import { FAULT_KINDS } from '../simulate/schedule.ts';
import { startCluster } from './start-cluster.ts';

const PAGE = ['faults', 'faults-of-components', 'exploration']
  .map((name) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n');
const blocks = [...PAGE.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);
const examples = blocks.filter((code) => !code.startsWith('export default'));

const manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'nginx' }] },
    },
  },
};

/** A recording with one request. */
const recording = join(mkdtempSync(join(tmpdir(), 'coxswain-faults-page-')), 'session.jsonl');
writeFileSync(
  recording,
  [
    { coxswain: 'recording', version: 1 },
    {
      atMs: 1000,
      user: { name: 'someone', groups: ['system:masters', 'system:authenticated'] },
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"metadata":{"name":"recorded"}}').toString('base64'),
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join(''),
);
afterAll(() => rmSync(dirname(recording), { recursive: true }));

const world = { assert, configMaps, deployments, manifest, nodes, pods, recording, replicaSets };
const AsyncFunction = (async () => undefined).constructor as new (
  ...args: string[]
) => (...args: unknown[]) => Promise<void>;

describe('the examples of the pages', () => {
  test.each(examples.map((code) => [code.trim().split('\n')[0], code]))(
    '%s',
    async (_, code = '') => {
      const cluster = await startCluster({
        clock: 'virtual',
        nodes: 2,
        ...(code.includes('// with: controlPlanes: 2') && { controlPlanes: 2 }),
        ...(code.includes('// with: hashHistory: true') && { hashHistory: true }),
      });
      try {
        const rollout = async (): Promise<void> => {
          await cluster.apply(manifest);
          await cluster.waitFor(deployments, 'web', 'Available');
        };
        const names = [...Object.keys(world), 'rollout', 'cluster'];
        await new AsyncFunction(...names, code)(...Object.values(world), rollout, cluster);
      } finally {
        await cluster.stop();
      }
    },
  );
});

test('every fault has an example', async () => {
  const cluster = await startCluster({ clock: 'virtual', nodes: 0, controllers: ['-*'] });
  const methods = Object.keys(cluster.faults).filter((name) => !/^(list|endAll)$/.test(name));
  await cluster.stop();
  const code = examples.join('\n');
  expect(methods.filter((name) => !code.includes(`faults.${name}(`))).toEqual([]);
});

test('the scenario of the pages is one, and all kinds of faults are named', async () => {
  const [scenario = ''] = blocks.filter((code) => code.startsWith('export default'));
  const module = (await import(`data:text/javascript,${encodeURIComponent(scenario)}`)) as {
    readonly default: unknown;
  };
  expect(checkedScenario(module.default, 'page')).toMatchObject({ name: 'my-scenario' });
  expect(FAULT_KINDS.filter((kind) => !PAGE.includes(`\`${kind}\``))).toEqual([]);
});
