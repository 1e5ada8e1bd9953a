import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { decideService } from '../decide.ts';
import type { RulesUpdate } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { type Conntrack, type Flow, FlowCleaner, parseFlows } from './flows.ts';

const LISTED = [
  'udp      17 29 src=192.168.0.2 dst=10.96.0.10 sport=4001 dport=53 [UNREPLIED] ' +
    'src=10.0.0.1 dst=192.168.0.2 sport=5353 dport=4001 mark=0 use=1',
  'udp      17 29 src=192.168.0.2 dst=192.168.0.1 sport=4002 dport=30053 src=10.0.0.2 ' +
    'dst=192.168.0.2 sport=5353 dport=4002 [ASSURED] mark=0 use=1',
  'udp      17 29 src=192.168.0.2 dst=8.8.8.8 sport=4003 dport=53 src=8.8.8.8 ' +
    'dst=192.168.0.2 sport=53 dport=4003 mark=0 use=1',
  'nonsense',
].join('\n');

test('the output of conntrack', () => {
  expect(
    parseFlows(LISTED).map(({ destination, destinationPort, endpoint, endpointPort }) => [
      destination,
      destinationPort,
      endpoint,
      endpointPort,
    ]),
  ).toEqual([
    ['10.96.0.10', 53, '10.0.0.1', 5353],
    ['192.168.0.1', 30053, '10.0.0.2', 5353],
    ['8.8.8.8', 53, '8.8.8.8', 53],
  ]);
});

const dns = service({
  type: 'NodePort',
  ports: [{ port: 53, targetPort: 5353, nodePort: 30053, protocol: 'UDP' }],
});
const update = (endpoints: readonly string[], complete = false): RulesUpdate => ({
  complete,
  changes: new Map([
    [
      'default/web',
      decideService(
        dns,
        [slice(endpoints, { ports: [{ name: '', port: 5353, protocol: 'UDP' }] as never })],
        NODE,
      ),
    ],
  ]),
});
function cleaner(conntrack: Partial<Conntrack>): {
  update: FlowCleaner['update'];
  removed: Flow[];
  lines: string[];
  lists: () => number;
} {
  const removed: Flow[] = [];
  const lines: string[] = [];
  let lists = 0;
  const flows = new FlowCleaner({
    conntrack: {
      list() {
        lists++;
        return Promise.resolve(parseFlows(LISTED));
      },
      remove: (_, flow) => Promise.resolve(void removed.push(flow)),
      ...conntrack,
    },
    clock: new VirtualClock(),
    logger: createLogger({ destination: { write: (line) => lines.push(line) } }),
  });
  return { update: (rules) => flows.update(rules), removed, lines, lists: () => lists };
}

test('flows to removed endpoints are deleted, other flows are not', async () => {
  const { update: apply, removed, lists } = cleaner({});
  await apply(update(['10.0.0.1', '10.0.0.2'], true));
  expect([removed.length, lists()]).toEqual([0, 1]);
  await apply(update(['10.0.0.1', '10.0.0.2', '10.0.0.3']));
  expect(lists()).toBe(1);
  await apply(update(['10.0.0.2', '10.0.0.3']));
  expect(removed.map(({ sourcePort }) => sourcePort)).toEqual([4001]);
});

test('without endpoints flows stay, and are deleted when there are others', async () => {
  const { update: apply, removed } = cleaner({});
  await apply(update(['10.0.0.1', '10.0.0.2'], true));
  await apply(update(['10.0.0.1 unready']));
  expect(removed).toEqual([]);
  await apply(update(['10.0.0.3']));
  expect(removed.map(({ sourcePort }) => sourcePort)).toEqual([4001, 4002]);
});

test('a missing program is logged once', async () => {
  const { update: apply, lines } = cleaner({
    list: () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' })),
  });
  await apply(update(['10.0.0.1'], true));
  await apply(update(['10.0.0.2']));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the program conntrack is missing');
});
