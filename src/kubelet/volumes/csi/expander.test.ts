import { describe, expect, test } from 'vitest';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { recordingLogger } from '#machinery/log.ts';
import { makePod } from '../../testing/make-pod.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../claims.ts';
import { CsiExpander } from './expander.ts';
import type { CsiVolume } from './host.ts';
import type { CsiNodeService } from './node-client.ts';

const volume = {
  name: 'pv',
  handle: 'h',
  driver: 'd',
  isInline: false,
  isBlock: false,
  readOnly: false,
  fsType: 'ext4',
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
} as unknown as CsiVolume;
const mounted = { path: '/target', stagingPath: '/staging' };
const pod = makePod({ metadata: { name: 'p', uid: 'u' } });

interface Driver {
  readonly fault?: Error;
  readonly has?: boolean;
  /** The size that the claim asks for. */
  readonly size?: string;
}

function setUp(status: object, { fault, has = true, size = '2Gi' }: Driver = {}) {
  const requests: unknown[] = [];
  const patches: object[] = [];
  const events: string[] = [];
  const service = {
    capabilities: () => Promise.resolve(new Set(has ? ['EXPAND_VOLUME'] : [])),
    expand: (request: unknown) => {
      requests.push(request);
      return fault === undefined ? Promise.resolve() : Promise.reject(fault);
    },
  } as unknown as CsiNodeService;
  const spec = { resources: { requests: { storage: size } } };
  const claim = { metadata: { name: 'c', uid: 'claim' }, spec, status };
  const persistent = {
    metadata: { name: 'pv' },
    spec: { capacity: { storage: '2Gi' }, claimRef: { namespace: 'default', name: 'c' } },
  };
  const expander = new CsiExpander({
    host: { service: () => service, secret: () => Promise.reject(new Error()), nodeName: 'n' },
    claims: {
      claim: () => Promise.resolve(claim as unknown as PersistentVolumeClaim),
      volume: () => Promise.resolve(persistent as unknown as PersistentVolume),
    },
    logger: recordingLogger(),
    now: () => '2030-01-01T00:00:00Z',
    patchStatus: (present, changes) => {
      patches.push(changes);
      return Promise.resolve(present);
    },
    record: (_pod, _claim, type, reason, message) =>
      void events.push(`${type} ${reason}: ${message}`),
  });
  return { expander, requests, patches, events };
}

const pending = {
  capacity: { storage: '1Gi' },
  allocatedResources: { storage: '2Gi' },
  allocatedResourceStatuses: { storage: 'NodeResizePending' },
  conditions: [
    { type: 'FileSystemResizePending', status: 'True' },
    { type: 'Other', status: 'True' },
  ],
};

describe('CsiExpander', () => {
  test('expands a volume whose claim waits for the node', async () => {
    const { expander, requests, patches, events } = setUp(pending);
    await expander.expand(pod, volume, mounted);
    expect(requests).toMatchObject([
      {
        volumeId: 'h',
        volumePath: '/target',
        stagingTargetPath: '/staging',
        capacityRange: { requiredBytes: 2 * 1024 ** 3 },
      },
    ]);
    expect(patches).toEqual([
      { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
      {
        capacity: { storage: '2Gi' },
        allocatedResourceStatuses: null,
        conditions: [{ type: 'Other', status: 'True' }],
      },
    ]);
    expect(events).toEqual([
      'Normal FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv" n',
    ]);
  });

  test.each([
    ['is large enough', { ...pending, capacity: { storage: '2Gi' } }, {}],
    [
      'waits for the controller',
      { ...pending, allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } },
      {},
    ],
    ['has a driver that cannot expand on nodes', pending, { has: false }],
  ])('leaves a volume that %s', async (_, status, driver) => {
    const { expander, requests, patches } = setUp(status, driver);
    await expander.expand(pod, volume, mounted);
    expect([requests, patches]).toEqual([[], []]);
  });

  test('a controller of before the recovery of failures: the size of the volume counts', async () => {
    const { expander, requests } = setUp({ capacity: { storage: '1Gi' } });
    await expander.expand(pod, volume, mounted);
    expect(requests).toMatchObject([{ capacityRange: { requiredBytes: 2 * 1024 ** 3 } }]);
  });

  test('a driver that cannot expand what is in use is not asked again for this pod', async () => {
    const fault = new RpcError('FAILED_PRECONDITION', 'in use');
    const { expander, requests } = setUp(pending, { fault });
    await expander.expand(pod, volume, mounted);
    await expander.expand(pod, volume, mounted);
    expect(requests).toHaveLength(1);
    await expander.expand(makePod({ metadata: { name: 'q', uid: 'v' } }), volume, mounted);
    expect(requests).toHaveLength(2);
    expander.retain(new Set(['v']));
    await expander.expand(pod, volume, mounted);
    expect(requests).toHaveLength(3);
  });

  test.each([
    ['OUT_OF_RANGE', { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }],
    ['INTERNAL', {}],
  ] as const)('a failure with %s is recorded', async (code, more) => {
    const fault = new RpcError(code, 'no');
    const { expander, patches, events } = setUp(pending, { fault });
    await expect(expander.expand(pod, volume, mounted)).rejects.toBe(fault);
    expect(patches[1]).toEqual({
      ...more,
      conditions: [
        { type: 'Other', status: 'True' },
        {
          type: 'NodeResizeError',
          status: 'True',
          lastProbeTime: null,
          lastTransitionTime: '2030-01-01T00:00:00Z',
          message: `failed to expand pvc with ${fault.message}`,
        },
      ],
    });
    expect(events[0]).toMatch(/^Warning VolumeResizeFailed: .* : rpc error: code = \w+ desc = no$/);
  });

  test.each([
    ['2Gi', {}],
    ['1500Mi', { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }],
  ])('after a final failure a claim of %s has this status', async (size, more) => {
    const fault = new RpcError('INTERNAL', 'no');
    const { expander, patches } = setUp(pending, { fault, size });
    await expect(expander.expand(pod, volume, mounted)).rejects.toBe(fault);
    expect(patches[1]).not.toHaveProperty('allocatedResourceStatuses');
    await expect(expander.expand(pod, volume, mounted)).rejects.toBe(fault);
    expect(patches[3]).toMatchObject(more);
    expect(Object.keys(patches[3] ?? {})).toEqual([...Object.keys(more), 'conditions']);
  });

  test('a volume that is read-only is not expanded', async () => {
    const { expander, requests, events } = setUp(pending);
    await expander.expand(pod, { ...volume, readOnly: true }, mounted);
    expect(requests).toEqual([]);
    expect(events).toEqual([
      'Warning FileSystemResizeFailed: MountVolume.NodeExpandVolume failed ' +
        'for volume "pv" requested read-only file system',
    ]);
  });
});
