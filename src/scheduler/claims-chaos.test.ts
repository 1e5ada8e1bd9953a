// Claims to devices and volumes under random faults: no device and no volume is allocated twice, a
// pod runs where its claims are, and finally every pod that can run does.

import { describe, expect, test } from 'vitest';
import { persistentVolumeClaims, persistentVolumes, pods } from '#api/groups/core/v1/index.ts';
import { deviceClasses, resourceClaims, resourceSlices } from '#api/groups/resource/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type Fault, startTestCluster, type TestCluster } from './testing/cluster.ts';
import { DRIVER, request, using } from './testing/devices.ts';
import { mounting, onHost } from './testing/volumes.ts';

const NODES = ['a', 'b', 'c'];
const DEVICES = 3;
const VOLUMES = 2;

function unreliable(
  random: SeededRandom,
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>,
): Fault {
  return async (request_, send) => {
    switch (random.int(10)) {
      case 0:
        throw apierrors.serviceUnavailable('connection refused');
      case 1: {
        await send();
        throw apierrors.timeoutError('the answer was lost');
      }
      case 2:
        await sleep(random.int(2000), request_.signal);
        return await send();
      default:
        return await send();
    }
  };
}

class World {
  readonly cluster: TestCluster;
  /** By pod: the number of devices, or 0 for a volume. */
  readonly wants = new Map<string, number>();

  constructor(cluster: TestCluster) {
    this.cluster = cluster;
  }

  get pods() {
    return this.cluster.client.resource(pods).namespace('default');
  }
  get claims() {
    return this.cluster.client.resource(resourceClaims).namespace('default');
  }
  get volumeClaims() {
    return this.cluster.client.resource(persistentVolumeClaims).namespace('default');
  }
  get volumes() {
    return this.cluster.client.resource(persistentVolumes);
  }

  async build(): Promise<void> {
    const { client } = this.cluster;
    await client.resource(deviceClasses).create({ metadata: { name: 'gpu' }, spec: {} });
    const late = {
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer' as const,
    };
    await client.resource(storageClasses).create({ metadata: { name: 'late' }, ...late });
    for (const node of NODES) {
      await this.cluster.addNode(node);
      const devices = Array.from({ length: DEVICES }, (_, i) => ({ name: `d${i}` }));
      const pool = { name: node, generation: 1, resourceSliceCount: 1 };
      await client.resource(resourceSlices).create({
        metadata: { name: node },
        spec: { driver: DRIVER, nodeName: node, pool, devices },
      });
      for (let i = 0; i < VOLUMES; i++) await this.addVolume(`${node}-${i}`, node);
    }
  }

  async addVolume(name: string, node: string): Promise<void> {
    const created = await this.volumes.create({
      metadata: { name },
      spec: {
        storageClassName: 'late',
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/tmp/x' },
        nodeAffinity: { required: onHost(node) },
      },
    });
    await this.volumes.updateStatus({ ...created, status: { phase: 'Available' } });
  }

  async addPod(name: string, devices: number): Promise<void> {
    this.wants.set(name, devices);
    if (devices > 0) {
      await this.claims.create({
        metadata: { name },
        spec: { devices: { requests: [request('r', { count: devices })] } },
      });
      await this.cluster.addPod(name, undefined, using(name));
    } else {
      const resources = { requests: { storage: '1Gi' } };
      await this.volumeClaims.create({
        metadata: { name },
        spec: { storageClassName: 'late', accessModes: ['ReadWriteOnce'], resources },
      });
      await this.cluster.addPod(name, undefined, mounting(name));
    }
  }

  /**
   * Acts as the controllers: binds claims that volumes name, and deallocates devices of deleted
   * pods.
   */
  async reconcile(): Promise<void> {
    const { items: all } = await this.pods.list();
    const alive = new Set(all.map(({ metadata }) => metadata.uid));
    for (const claim of (await this.claims.list()).items) {
      const { reservedFor = [], allocation, ...status } = claim.status;
      if (
        allocation === undefined ||
        reservedFor.length === 0 ||
        reservedFor.some(({ uid }) => alive.has(uid))
      )
        continue;
      await this.claims.updateStatus({ ...claim, status });
    }
    for (const { metadata, spec } of (await this.volumes.list()).items) {
      if (spec.claimRef?.name === undefined) continue;
      const claim = await this.volumeClaims.get(spec.claimRef.name);
      if (claim.spec.volumeName) continue;
      const annotations = {
        ...claim.metadata.annotations,
        'pv.kubernetes.io/bind-completed': 'yes',
      };
      await this.volumeClaims.update({
        ...claim,
        metadata: { ...claim.metadata, annotations },
        spec: { ...claim.spec, volumeName: metadata.name },
      });
    }
  }

  /**
   * Throws if something was allocated twice, or a pod is not where its claims are. Returns free
   * devices by node.
   */
  async check(): Promise<ReadonlyMap<string, number>> {
    const users = new Map<string, string>();
    const places = new Map<string, string>();
    const give = (what: string, claim: string): void => {
      expect(users.get(what) ?? claim, `${what} is given away twice`).toBe(claim);
      users.set(what, claim);
    };
    const free = new Map(NODES.map((node) => [node, DEVICES]));
    // The pods are read first: whatever is bound then has its claims in every later list.
    const { items: listedPods } = await this.pods.list();
    for (const { metadata, status } of (await this.claims.list()).items) {
      for (const { pool, device } of status.allocation?.devices.results ?? []) {
        give(`device ${pool}/${device}`, metadata.name);
        places.set(metadata.name, pool);
        free.set(pool, (free.get(pool) ?? 0) - 1);
      }
    }
    for (const { metadata, spec } of (await this.volumeClaims.list()).items) {
      if (spec.volumeName === undefined) continue;
      give(`volume ${spec.volumeName}`, metadata.name);
      places.set(metadata.name, spec.volumeName.split('-')[0]!);
    }
    for (const { metadata, spec } of listedPods) {
      if (spec.nodeName !== undefined)
        expect(places.get(metadata.name), metadata.name).toBe(spec.nodeName);
    }
    return free;
  }
}

describe('claims with random faults', () => {
  test.each(Array.from({ length: 8 }, (_, i) => i))('are kept (seed %i)', async (seed) => {
    const random = new SeededRandom(`claims ${seed}`);
    const cluster = await startTestCluster();
    const world = new World(cluster);
    await world.build();
    const fault = unreliable(random.derive('faults'), (ms, signal) =>
      cluster.clock.sleep(ms, signal),
    );
    let scheduler = cluster.startScheduler({}, fault);
    for (let step = 0, made = 0; step < 45; step++) {
      switch (random.int(6)) {
        case 0:
        case 1:
          await world.addPod(`p${made++}`, random.int(3));
          break;
        case 2: {
          const { items } = await world.pods.list();
          const victim = items[random.int(Math.max(items.length, 1))];
          if (victim !== undefined && world.wants.get(victim.metadata.name) !== 0) {
            await world.pods.delete(victim.metadata.name, { gracePeriodSeconds: 0 });
          }
          break;
        }
        case 3:
          await cluster.clock.advance(random.int(4000));
          break;
        case 4:
          await world.reconcile();
          break;
        default: {
          if (random.int(4) > 0) break;
          const stopping = scheduler.stop();
          await cluster.clock.advance('10s');
          await stopping;
          scheduler = cluster.startScheduler({}, fault);
        }
      }
      await world.check();
    }
    scheduler.setFault(undefined);
    for (let i = 0; i < 4; i++) {
      await cluster.clock.advance('3m');
      await world.reconcile();
    }
    await cluster.clock.advance('10s');
    const free = await world.check();
    const { items } = await world.pods.list();
    const bound = (await world.volumeClaims.list()).items.filter(
      ({ spec }) => spec.volumeName !== undefined,
    ).length;
    for (const { metadata, spec } of items) {
      if (spec.nodeName !== undefined) continue;
      const wanted = world.wants.get(metadata.name) ?? 0;
      if (wanted === 0) expect(bound, metadata.name).toBe(NODES.length * VOLUMES);
      else expect(Math.max(...free.values()), metadata.name).toBeLessThan(wanted);
    }
    expect(scheduler.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
    await cluster.stop();
  });
});
