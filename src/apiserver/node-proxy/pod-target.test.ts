import { expect, test } from 'vitest';
import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { targetOf } from './pod-target.ts';

const node = {
  metadata: { name: 'n1' },
  status: {
    addresses: [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'ExternalDNS', address: 'n1.example.org' },
    ],
  },
} as unknown as Immutable<Node>;

test.each<[string[] | undefined, string]>([
  [undefined, '10.0.0.1'],
  [['Hostname', 'InternalDNS', 'InternalIP'], 'n1'],
  [['ExternalIP', 'ExternalDNS', 'InternalIP'], 'n1.example.org'],
  [['ExternalIP'], ''],
])('of the address types %j the first that a node has is %j', (types, host) => {
  expect(targetOf(node, types)).toEqual({ name: 'n1', host, port: 10250 });
});
