import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { DecisionLog, topScores } from './decisions.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(async () => cluster.stop());

test('decisions are kept with their reasons; scores only while they are read', async () => {
  await cluster.addNode('n1', { allocatable: { cpu: '4', memory: '4Gi', pods: '10' } });
  await cluster.addNode('n2', { allocatable: { cpu: '2', memory: '4Gi', pods: '10' } });
  const { clock } = cluster;
  const decisions = new DecisionLog(clock);
  cluster.startScheduler({ decisions });
  await cluster.addPod('unread', { cpu: '1' });
  await cluster.untilBound('unread');
  expect(decisions.read()).toMatchObject([
    {
      pod: 'unread',
      namespace: 'default',
      node: 'n1',
      feasibleNodes: 2,
      evaluatedNodes: 2,
      scores: [],
    },
  ]);
  await cluster.addPod('read', { cpu: '1' });
  await cluster.untilBound('read');
  await cluster.addPod('large', { cpu: '9' });
  await clock.advance('1s');
  const [large, read] = decisions.read();
  expect(large).toMatchObject({ pod: 'large', node: '', feasibleNodes: 0, scores: [] });
  expect(large?.message).toContain('2 Insufficient cpu');
  expect(read).toMatchObject({ pod: 'read', message: '', profile: 'default-scheduler' });
  expect(read?.scores.map(({ node }) => node)).toContain(read?.node);
  expect(read?.scores[0]!.score).toBeGreaterThanOrEqual(read!.scores[1]!.score);
  await clock.advance('61s');
  await cluster.addPod('later', { cpu: '1' });
  await cluster.untilBound('later');
  expect(decisions.read().find(({ pod }) => pod === 'later')?.scores).toEqual([]);
});

test('the number of decisions is bounded, and the latest is first', () => {
  const decisions = new DecisionLog(new VirtualClock());
  const rest = {
    profile: '',
    namespace: '',
    uid: '',
    node: '',
    message: '',
    nominatedNode: '',
    evaluatedNodes: 0,
    feasibleNodes: 0,
    scores: [],
  };
  for (let n = 0; n < 450; n++) decisions.add({ ...rest, pod: String(n) });
  const pods = decisions.read().map(({ pod }) => Number(pod));
  expect(pods).toEqual(Array.from({ length: 200 }, (_, n) => 449 - n));
});

test('the highest scores come first, and equal ones in the order of nodes', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name }));
  expect(topScores(nodes, [1, 5, 3, 5, 9, 0, 2]).map(({ node }) => node)).toEqual([
    'e',
    'b',
    'd',
    'c',
    'g',
  ]);
  expect(topScores(nodes.slice(0, 2), [1, 2])).toEqual([
    { node: 'b', score: 2 },
    { node: 'a', score: 1 },
  ]);
});
