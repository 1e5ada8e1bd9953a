// The tables of all other kinds: their columns, and a row for each possible content of a cell.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import { decodeManifest } from '#api/testing/manifest.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { replicaSetTable } from '../apps/replica-set.ts';
import { leaseTable } from '../coordination/lease.ts';
import { configMapTable } from './config-map.ts';
import { eventTable } from './event/table.ts';
import { namespaceTable } from './namespace.ts';
import { nodeTable } from './node.ts';
import { replicationControllerTable } from './replication-controller.ts';
import { secretTable } from './secret.ts';
import { serviceAccountTable } from './service-account/index.ts';
import { serviceTable } from './service/table.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

/** Returns the names of the columns. Brackets mark those that only `-o wide` shows. */
function columnsOf<T extends KubeObject>(table: TableConvertor<T>): string {
  return table.columns
    .map(({ name, priority = 0 }) => (priority === 0 ? name : `[${name}]`))
    .join(' | ');
}

function rowOf<T extends KubeObject>(table: TableConvertor<T>, key: string, yaml: string): string {
  const cells = table.cells(decodeManifest<T>(key, yaml), NOW);
  expect(cells).toHaveLength(table.columns.length);
  return cells.join(' | ');
}

const metadata = 'metadata: {name: x, creationTimestamp: "2026-01-01T00:00:00Z"}';

describe('services', () => {
  test('columns', () => {
    expect(columnsOf(serviceTable)).toBe(
      'Name | Type | Cluster-IP | External-IP | Port(s) | Age | [Selector]',
    );
  });
  test.each<[what: string, yaml: string, row: string]>([
    [
      'a cluster IP',
      'spec: {type: ClusterIP, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80, ' +
        'protocol: TCP}, {port: 53, protocol: UDP}], selector: {b: c, a: b}}',
      'x | ClusterIP | 10.0.0.1 | <none> | 80/TCP,53/UDP | 60m | a=b,b=c',
    ],
    [
      'headless, without ports',
      'spec: {type: ClusterIP, clusterIP: None}',
      'x | ClusterIP | None | <none> | <none> | 60m | <none>',
    ],
    [
      'nothing given out',
      'spec: {type: ClusterIP}',
      'x | ClusterIP | <none> | <none> | <none> | 60m | <none>',
    ],
    [
      'external addresses',
      'spec: {type: ClusterIP, clusterIP: 10.0.0.1, externalIPs: [1.2.3.4, 1.2.3.5]}',
      'x | ClusterIP | 10.0.0.1 | 1.2.3.4,1.2.3.5 | <none> | 60m | <none>',
    ],
    [
      'a node port',
      'spec: {type: NodePort, clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30080, protocol: TCP}]}',
      'x | NodePort | 10.0.0.1 | <none> | 80:30080/TCP | 60m | <none>',
    ],
    [
      'a name elsewhere',
      'spec: {type: ExternalName, externalName: a.b}',
      'x | ExternalName | <none> | a.b | <none> | 60m | <none>',
    ],
    [
      'a load balancer to come',
      'spec: {type: LoadBalancer, clusterIP: 10.0.0.1}',
      'x | LoadBalancer | 10.0.0.1 | <pending> | <none> | 60m | <none>',
    ],
    [
      'a load balancer, sorted, without repetition, with external addresses',
      'spec: {type: LoadBalancer, clusterIP: 10.0.0.1, externalIPs: [9.9.9.9]}\nstatus: ' +
        '{loadBalancer: {ingress: [{hostname: z.example}, {ip: 1.2.3.4}, {ip: 1.2.3.4}, {}]}}',
      'x | LoadBalancer | 10.0.0.1 | 1.2.3.4,z.example,9.9.9.9 | <none> | 60m | <none>',
    ],
  ])('%s', (_, yaml, row) => {
    expect(rowOf(serviceTable, 'core/v1.Service', `${metadata}\n${yaml}`)).toBe(row);
  });
});

describe('nodes', () => {
  test('columns', () => {
    expect(columnsOf(nodeTable)).toBe(
      'Name | Status | Roles | Age | Version | [Internal-IP] | [External-IP] | [OS-Image] | ' +
        '[Kernel-Version] | [Container-Runtime]',
    );
  });
  test.each<[what: string, yaml: string, row: string]>([
    [
      'nothing known',
      metadata,
      'x | Unknown | <none> | 60m |  | <none> | <none> | <unknown> | <unknown> | <unknown>',
    ],
    [
      'ready, with roles',
      'metadata: {name: x, creationTimestamp: "2026-01-01T00:00:00Z", labels: ' +
        '{node-role.kubernetes.io/worker: "", node-role.kubernetes.io/control-plane: "", ' +
        'kubernetes.io/role: edge, node-role.kubernetes.io/: ""}}\n' +
        'status: {conditions: [{type: MemoryPressure, status: "False"}, {type: Ready, status: ' +
        '"True"}], addresses: [{type: Hostname, address: x}, {type: InternalIP, address: ' +
        '10.0.0.1}, {type: ExternalIP, address: 1.2.3.4}],\n' +
        '  nodeInfo: {kubeletVersion: v1.36.3, osImage: Debian, kernelVersion: "6.1", ' +
        'containerRuntimeVersion: containerd://1.6}}',
      'x | Ready | control-plane,edge,worker | 60m | v1.36.3 | 10.0.0.1 | 1.2.3.4 | Debian | 6.1 | containerd://1.6',
    ],
    [
      'not ready',
      `${metadata}\nstatus: {conditions: [{type: Ready, status: "False"}]}`,
      'x | NotReady | <none> | 60m |  | <none> | <none> | <unknown> | <unknown> | <unknown>',
    ],
    [
      'silent, and closed',
      `${metadata}\nspec: {unschedulable: true}\nstatus: {conditions: [{type: Ready, status: Unknown}]}`,
      'x | NotReady,SchedulingDisabled | <none> | 60m |  | <none> | <none> | <unknown> | <unknown> | <unknown>',
    ],
  ])('%s', (_, yaml, row) => {
    expect(rowOf(nodeTable, 'core/v1.Node', yaml)).toBe(row);
  });
});

describe('events', () => {
  test('columns', () => {
    expect(columnsOf(eventTable)).toBe(
      'Last Seen | Type | Reason | Object | [Subobject] | [Source] | Message | [First Seen] | [Count] | [Name]',
    );
  });
  test.each<[what: string, yaml: string, row: string]>([
    [
      'of the older form',
      'involvedObject: {kind: Pod, name: p, fieldPath: "spec.containers{c}"}\ntype: ' +
        'Normal\nreason: Pulled\nmessage: " said "\nsource: {component: kubelet, host: ' +
        'n1}\nfirstTimestamp: "2026-01-01T00:00:00Z"\nlastTimestamp: ' +
        '"2026-01-01T00:59:00Z"\ncount: 3',
      '60s | Normal | Pulled | pod/p | spec.containers{c} | kubelet, n1 | said | 60m | 3 | x',
    ],
    [
      'of the newer form',
      'involvedObject: {kind: Node}\ntype: Warning\nreason: R\nreportingComponent: ' +
        'a/b\nreportingInstance: i\neventTime: "2026-01-01T00:58:00.000000Z"',
      '2m | Warning | R | node |  | a/b, i |  | 2m | 1 | x',
    ],
    [
      'a series',
      'involvedObject: {kind: Pod, name: p}\nreportingComponent: a\neventTime: ' +
        '"2026-01-01T00:00:00.000000Z"\nseries: {count: 9, lastObservedTime: ' +
        '"2026-01-01T00:59:59.000000Z"}',
      '1s |  |  | pod/p |  | a |  | 60m | 9 | x',
    ],
    ['without times', 'involvedObject: {}', '<unknown> |  |  |  |  |  |  | <unknown> | 1 | x'],
  ])('%s', (_, yaml, row) => {
    expect(rowOf(eventTable, 'core/v1.Event', `metadata: {name: x}\n${yaml}`)).toBe(row);
  });
});

describe('kinds with few columns', () => {
  test.each<[what: string, columns: string, row: string, expected: [columns: string, row: string]]>(
    [
      [
        'a namespace',
        columnsOf(namespaceTable),
        rowOf(namespaceTable, 'core/v1.Namespace', `${metadata}\nstatus: {phase: Terminating}`),
        ['Name | Status | Age', 'x | Terminating | 60m'],
      ],
      [
        'a config map',
        columnsOf(configMapTable),
        rowOf(
          configMapTable,
          'core/v1.ConfigMap',
          `${metadata}\ndata: {a: b, c: d}\nbinaryData: {e: Zg==}`,
        ),
        ['Name | Data | Age', 'x | 3 | 60m'],
      ],
      [
        'a secret',
        columnsOf(secretTable),
        rowOf(secretTable, 'core/v1.Secret', `${metadata}\ntype: Opaque\ndata: {a: Yg==}`),
        ['Name | Type | Data | Age', 'x | Opaque | 1 | 60m'],
      ],
      [
        'a service account',
        columnsOf(serviceAccountTable),
        rowOf(serviceAccountTable, 'core/v1.ServiceAccount', `${metadata}\nsecrets: [{name: s}]`),
        ['Name | Age', 'x | 60m'],
      ],
      [
        'a lease',
        columnsOf(leaseTable),
        rowOf(leaseTable, 'coordination/v1.Lease', `${metadata}\nspec: {holderIdentity: me}`),
        ['Name | Holder | Age', 'x | me | 60m'],
      ],
      [
        'a lease without a holder',
        columnsOf(leaseTable),
        rowOf(leaseTable, 'coordination/v1.Lease', metadata),
        ['Name | Holder | Age', 'x |  | 60m'],
      ],
      [
        'a replica set',
        columnsOf(replicaSetTable),
        rowOf(
          replicaSetTable,
          'apps/v1.ReplicaSet',
          `${metadata}\nspec: {replicas: 3, selector: {matchLabels: {b: c}, matchExpressions: ` +
            '[{key: a, operator: In, values: [u, t]}]}, template: {spec: {containers: [{name: c, ' +
            `image: i}, {name: d, image: j}]}}}\nstatus: {replicas: 2, readyReplicas: 1}`,
        ),
        [
          'Name | Desired | Current | Ready | Age | [Containers] | [Images] | [Selector]',
          'x | 3 | 2 | 1 | 60m | c,d | i,j | a in (t,u),b=c',
        ],
      ],
      [
        'a replication controller',
        columnsOf(replicationControllerTable),
        rowOf(
          replicationControllerTable,
          'core/v1.ReplicationController',
          `${metadata}\nspec: {replicas: 0, selector: {a: b}, template: {spec: {containers: [{name: c, image: i}]}}}`,
        ),
        [
          'Name | Desired | Current | Ready | Age | [Containers] | [Images] | [Selector]',
          'x | 0 | 0 | 0 | 60m | c | i | a=b',
        ],
      ],
    ],
  )('%s', (_, columns, row, expected) => {
    expect([columns, row]).toEqual(expected);
  });
});
