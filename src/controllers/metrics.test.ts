// The metrics of single controllers.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { replicaSets, statefulSets } from '#api/groups/apps/v1/index.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import { cronJobs, jobs } from '#api/groups/batch/v1/index.ts';
import {
  configMaps,
  endpoints,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  services,
} from '#api/groups/core/v1/index.ts';
import { csiDrivers, storageClasses, volumeAttachments } from '#api/groups/storage/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { AttachDetachController } from './attach-detach/index.ts';
import type { Controller, ControllerConfig } from './controller.ts';
import { CronJobController } from './cronjob/index.ts';
import { EndpointSliceMirroringController } from './endpointslice-mirroring/index.ts';
import { EndpointSliceController } from './endpointslice/index.ts';
import { EphemeralVolumeController } from './ephemeral-volume/index.ts';
import { HorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/index.ts';
import { JobController } from './job/index.ts';
import { NodeIpamController } from './node-ipam/index.ts';
import { NodeLifecycleController } from './node-lifecycle/index.ts';
import { PersistentVolumeBinder } from './persistent-volume/index.ts';
import { newClaim, newVolume } from './persistent-volume/testing/objects.ts';
import { PodGcController } from './pod-gc/index.ts';
import { RootCaPublisher } from './root-ca-publisher/index.ts';
import { ReplicaManager, replicaSetKind } from './replicaset/index.ts';
import { StatefulSetController } from './statefulset/index.ts';
import { TaintEvictionController } from './taint-eviction/index.ts';
import { startTestCluster, type TestCluster } from './testing/test-cluster.ts';
import { TtlAfterFinishedController } from './ttl-after-finished/index.ts';

const MERGE = 'application/merge-patch+json';

let cluster: TestCluster;
let instruments: Instruments;
beforeEach(async () => {
  cluster = await startTestCluster();
  instruments = new Instruments();
});
afterEach(() => cluster.stop());

const run = (make: (config: ControllerConfig) => Controller) =>
  cluster.run((config) => make({ ...config, instruments }));
/** Returns the samples with this prefix; of histograms, only the counts. */
const samples = (prefix: string): readonly string[] =>
  instruments
    .text()
    .split('\n')
    .filter((line) => line.startsWith(prefix) && !/_bucket|_sum/.test(line));
const settle = () => cluster.clock.settle();
const containers = [{ name: 'c', image: 'i' }];

test('the binder: volumes and claims, and default classes that are assigned later', async () => {
  const { client } = cluster;
  await run((config) => new PersistentVolumeBinder(config));
  await client.resource(persistentVolumes).create(newVolume('bound'));
  await client.resource(persistentVolumeClaims).create(newClaim('c'));
  await settle();
  await client.resource(persistentVolumes).create(
    newVolume('free', {
      hostPath: null,
      csi: { driver: 'd.example.com', volumeHandle: 'h' },
      storageClassName: 'slow',
    } as object),
  );
  await client
    .resource(persistentVolumeClaims)
    .create(newClaim('later', { storageClassName: undefined, accessModes: ['ReadWriteMany'] }));
  await settle();
  expect(samples('pv_collector')).toEqual([
    expect.stringMatching(/^pv_collector_bound_pv_count\{storage_class="\w*"\} 1$/),
    expect.stringMatching(
      /^pv_collector_bound_pvc_count\{namespace="default",storage_class="\w*",volume_attributes_class=""\} 1$/,
    ),
    'pv_collector_total_pv_count{plugin_name="kubernetes.io/host-path",volume_mode="Filesystem"} 1',
    'pv_collector_total_pv_count{plugin_name="kubernetes.io/csi:d.example.com",volume_mode="Filesystem"} 1',
    'pv_collector_unbound_pv_count{storage_class="slow"} 1',
    expect.stringMatching(
      /^pv_collector_unbound_pvc_count\{namespace="default",storage_class="\w*",volume_attributes_class=""\} 1$/,
    ),
  ]);
  expect(samples('retroactive')).toEqual([
    'retroactive_storageclass_errors_total 0',
    'retroactive_storageclass_total 0',
  ]);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  await client
    .resource(storageClasses)
    .create({ metadata: { name: 'default', annotations }, provisioner: 'example.com/p' });
  await settle();
  expect(samples('retroactive_storageclass_total')).toEqual(['retroactive_storageclass_total 1']);
});

test('the binder: durations of provisioning and deletion, and failures', async () => {
  const { client, clock } = cluster;
  await run((config) => new PersistentVolumeBinder(config));
  await client
    .resource(storageClasses)
    .create({ metadata: { name: 'x' }, provisioner: 'example.com/p' });
  await client.resource(persistentVolumeClaims).create(newClaim('c', { storageClassName: 'x' }));
  await clock.advance('3s');
  const { uid } = (await client.resource(persistentVolumeClaims).namespace('default').get('c'))
    .metadata;
  const claimRef = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: 'default',
    name: 'c',
    uid,
  };
  const annotations = { 'pv.kubernetes.io/provisioned-by': 'example.com/p' };
  const spec = {
    storageClassName: 'x',
    claimRef,
    persistentVolumeReclaimPolicy: 'Delete' as const,
  };
  await client.resource(persistentVolumes).create(newVolume('v', spec, { annotations }));
  await clock.advance('1s');
  const taken = (): readonly string[] =>
    instruments
      .text()
      .split('\n')
      .filter((line) =>
        /^volume_operation_(total_seconds_sum|errors_total|total_errors)/.test(line),
      );
  const sum = (operation: string): string =>
    `volume_operation_total_seconds_sum{plugin_name="example.com/p",operation_name="${operation}"}`;
  expect(taken()).toEqual([expect.stringMatching(/provision"\} 3(\.\d+)?$/)]);
  const unprotected = { metadata: { finalizers: null } };
  await client.resource(persistentVolumeClaims).namespace('default').patch('c', MERGE, unprotected);
  await client.resource(persistentVolumeClaims).namespace('default').delete('c');
  await clock.advance('7s');
  await client.resource(persistentVolumes).patch('v', MERGE, unprotected);
  await client.resource(persistentVolumes).delete('v');
  await clock.advance('1s');
  expect(taken().map((line) => line.replace(/\d+(\.\d+)?$/, ''))).toEqual([
    `${sum('provision')} `,
    `${sum('delete')} `,
  ]);
  expect(Number(taken()[1]?.split(' ')[1])).toBeCloseTo(7, 0);
  // No provisioner is left that would delete it.
  await client
    .resource(persistentVolumes)
    .create(newVolume('w', { ...spec, claimRef: { ...claimRef, uid: 'gone' } }));
  await clock.advance('1s');
  expect(taken().filter((line) => !line.includes('seconds'))).toEqual([
    'volume_operation_errors_total{plugin_name="N/A",operation_name="delete"} 1',
    'volume_operation_total_errors{plugin_name="N/A",operation_name="delete"} 1',
  ]);
});

test('attaching: volumes in use, wanted and attached, and forced detaches', async () => {
  const { client } = cluster;
  await run((config) => new PersistentVolumeBinder(config));
  await run((config) => new AttachDetachController(config));
  await client.resource(csiDrivers).create({ metadata: { name: 'd.example.com' }, spec: {} });
  await client.resource(nodes).create({
    metadata: {
      name: 'n',
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null },
      ],
    },
  });
  const csi = { driver: 'd.example.com', volumeHandle: 'h-v' };
  await client
    .resource(persistentVolumes)
    .create(newVolume('v', { hostPath: null, csi } as object));
  await client.resource(persistentVolumeClaims).create(newClaim('c'));
  await settle();
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
  await client.resource(pods).create({
    metadata: { name: 'p', namespace: 'default' },
    spec: { nodeName: 'n', containers, volumes },
  });
  await settle();
  expect(samples('storage_count')).toEqual([
    'storage_count_attachable_volumes_in_use{node="n",volume_plugin="kubernetes.io/csi:d.example.com"} 1',
  ]);
  const of = (state: string): string =>
    `attachdetach_controller_total_volumes{plugin_name="kubernetes.io/csi:d.example.com",state="${state}"} 1`;
  expect(samples('attachdetach')).toEqual([of('desired_state_of_world')]);
  const [attachment] = (await client.resource(volumeAttachments).list()).items;
  const name = attachment?.metadata.name ?? '';
  await client
    .resource(volumeAttachments)
    .patch(name, MERGE, { status: { attached: true } }, { subresource: 'status' });
  await client
    .resource(nodes)
    .patch(
      'n',
      MERGE,
      { status: { volumesInUse: ['kubernetes.io/csi/d.example.com^h-v'] } },
      { subresource: 'status' },
    );
  await settle();
  expect(samples('attachdetach')).toEqual([
    of('desired_state_of_world'),
    of('actual_state_of_world'),
  ]);
  const operation = (name: string): string =>
    'storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/csi:d.example.com"' +
    `,operation_name="${name}",status="success",migrated="false"} 1`;
  expect(samples('storage_operation')).toEqual([operation('volume_attach')]);
  expect(samples('attach_detach')).toEqual([]);
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const }];
  await client.resource(nodes).patch('n', MERGE, { spec: { taints } });
  await client.resource(pods).namespace('default').delete('p', { gracePeriodSeconds: 0 });
  await cluster.clock.advance('10s');
  expect(samples('attach_detach')).toEqual([
    'attach_detach_controller_attachdetach_controller_forced_detaches{reason="out-of-service"} 1',
  ]);
  expect(samples('storage_operation')).toEqual([
    operation('volume_attach'),
    operation('volume_detach'),
  ]);
});

test('jobs: reconciles, pods, outcomes, and delays of start and deletion', async () => {
  const { client, clock } = cluster;
  await run((config) => new JobController(config));
  await run((config) => new CronJobController(config));
  await run((config) => new TtlAfterFinishedController(config));
  const template = { spec: { restartPolicy: 'Never' as const, containers } };
  await client.resource(cronJobs).create({
    metadata: { name: 'hourly', namespace: 'default' },
    spec: {
      schedule: '0 * * * *',
      jobTemplate: { spec: { template, ttlSecondsAfterFinished: 10 } },
    },
  });
  await client.resource(jobs).create({
    metadata: { name: 'elsewhere', namespace: 'default' },
    spec: { managedBy: 'example.com/runner', template },
  });
  await clock.advance('61m');
  expect(samples('cronjob')).toEqual([
    'cronjob_controller_job_creation_skew_duration_seconds_count 1',
  ]);
  expect(samples('job_controller_jobs_by')).toEqual([
    'job_controller_jobs_by_external_controller_total{controller_name="example.com/runner"} 1',
  ]);
  expect(samples('job_controller_job_pods_creation')).toEqual([
    'job_controller_job_pods_creation_total{reason="new",status="succeeded"} 1',
  ]);
  const [pod] = (await client.resource(pods).list()).items;
  const state = { terminated: { exitCode: 0, finishedAt: formatTime(clock.now()) } };
  const containerStatuses = [
    { name: 'c', ready: false, restartCount: 0, image: '', imageID: '', state },
  ];
  const status = { phase: 'Succeeded', containerStatuses };
  await client
    .resource(pods)
    .namespace('default')
    .patch(pod?.metadata.name ?? '', MERGE, { status }, { subresource: 'status' });
  await clock.advance('5s');
  expect(samples('job_controller_job_pods_finished')).toContain(
    'job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 1',
  );
  expect(samples('job_controller_jobs_finished')).toEqual([
    'job_controller_jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
  ]);
  expect(samples('job_controller_terminated')).toEqual([
    'job_controller_terminated_pods_tracking_finalizer_total{event="add"} 1',
    'job_controller_terminated_pods_tracking_finalizer_total{event="delete"} 1',
  ]);
  expect(samples('job_controller_job_syncs').join('\n')).toMatch(
    /result="success",action="pods_created"\} [1-9]/,
  );
  await clock.advance('10s');
  expect(samples('ttl_after')).toEqual([
    'ttl_after_finished_controller_job_deletion_duration_seconds_count 1',
  ]);
});

test('nodes: zones and evictions', async () => {
  const { client, clock } = cluster;
  await run((config) => new NodeLifecycleController(config));
  await run((config) => new TaintEvictionController(config));
  await run((config) => new PodGcController({ ...config, terminatedPodThreshold: 1 }));
  const ready = (status: string) => ({
    conditions: [{ type: 'Ready', status, lastHeartbeatTime: null, lastTransitionTime: null }],
  });
  const labels = { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'z' };
  await client
    .resource(nodes)
    .create({ metadata: { name: 'well', labels }, status: ready('True') });
  await client
    .resource(nodes)
    .create({ metadata: { name: 'ill', labels }, status: ready('False') });
  const access = client.resource(pods).namespace('default');
  const tolerated = {
    key: 'node.kubernetes.io/not-ready',
    operator: 'Exists' as const,
    effect: 'NoExecute' as const,
    tolerationSeconds: 10,
  };
  await access.create({
    metadata: { name: 'p' },
    spec: { nodeName: 'ill', containers, tolerations: [tolerated] },
  });
  for (const name of ['old', 'new']) {
    await access.create({ metadata: { name }, spec: { nodeName: 'well', containers } });
    await access.patch(name, MERGE, { status: { phase: 'Succeeded' } }, { subresource: 'status' });
  }
  await clock.advance('30s');
  const zone = '{zone="r:\0:z"}';
  expect(samples('node_collector')).toEqual([
    `node_collector_evictions_total${zone} 1`,
    `node_collector_unhealthy_nodes_in_zone${zone} 1`,
    expect.stringMatching(/^node_collector_update_all_nodes_health_duration_seconds_count [1-9]/),
    expect.stringMatching(/^node_collector_update_node_health_duration_seconds_count [1-9]/),
    `node_collector_zone_health${zone} 50`,
    `node_collector_zone_size${zone} 2`,
  ]);
  expect(samples('taint_eviction')).toEqual([
    'taint_eviction_controller_pod_deletion_duration_seconds_count 1',
    'taint_eviction_controller_pod_deletions_total 1',
  ]);
  expect(samples('pod_gc')).toContain(
    'pod_gc_collector_force_delete_pods_total{namespace="default",reason="terminated"} 1',
  );
});

test('namespaces and ephemeral volumes: creations', async () => {
  const { client, clock } = cluster;
  await run((config) => new RootCaPublisher({ ...config, rootCa: 'ca' }));
  await run((config) => new EphemeralVolumeController(config));
  await client.resource(namespaces).create({ metadata: { name: 'x' } });
  const spec = {
    accessModes: ['ReadWriteOnce' as const],
    resources: { requests: { storage: '1Gi' } },
  };
  const volumes = [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec } } }];
  await client
    .resource(pods)
    .create({ metadata: { name: 'p', namespace: 'default' }, spec: { containers, volumes } });
  await clock.advance('1s');
  expect((await client.resource(configMaps).namespace('x').list()).items).toHaveLength(1);
  expect(
    samples('root_ca').every((line) =>
      /^root_ca_cert_publisher_sync_\w+\{code="200"\} [1-9]/.test(line),
    ),
  ).toBe(true);
  expect(samples('root_ca')).toHaveLength(2);
  expect(samples('ephemeral')).toEqual([
    'ephemeral_volume_controller_create_failures_total 0',
    'ephemeral_volume_controller_create_total 1',
  ]);
});

test('autoscalers and node ranges', async () => {
  const { client, clock } = cluster;
  await run((config) => new HorizontalPodAutoscalerController(config));
  await run((config) => new NodeIpamController({ ...config, clusterCidrs: ['10.244.0.0/22'] }));
  await client.resource(horizontalPodAutoscalers).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'none' },
    },
  });
  await client.resource(nodes).create({ metadata: { name: 'n' } });
  await clock.advance('1s');
  const autoscaler = 'horizontal_pod_autoscaler_controller';
  expect(samples(autoscaler)).toEqual([
    `${autoscaler}_desired_replicas{namespace="default",hpa_name="web"} 0`,
    `${autoscaler}_num_horizontal_pod_autoscalers 1`,
    `${autoscaler}_reconciliation_duration_seconds_count{action="none",error="internal"} 1`,
    `${autoscaler}_reconciliations_total{action="none",error="internal"} 1`,
  ]);
  await client.resource(nodes).delete('n');
  await client.resource(nodes).create({ metadata: { name: 'm' } });
  await clock.advance('1s');
  expect(samples('node_ipam')).toEqual([
    'node_ipam_controller_cidrset_allocation_tries_per_request_count{clusterCIDR="10.244.0.0/22"} 2',
    'node_ipam_controller_cidrset_cidrs_allocations_total{clusterCIDR="10.244.0.0/22"} 2',
    'node_ipam_controller_cidrset_cidrs_releases_total{clusterCIDR="10.244.0.0/22"} 1',
    'node_ipam_controller_cidrset_usage_cidrs{clusterCIDR="10.244.0.0/22"} 0.25',
    'node_ipam_controller_cirdset_max_cidrs{clusterCIDR="10.244.0.0/22"} 4',
  ]);
});

test('stateful sets: reconciles delayed until the cache has own writes', async () => {
  const { client, clock, faults } = cluster;
  await run((config) => new StatefulSetController(config));
  faults.hold('/api/v1/pods');
  const template = { metadata: { labels: { app: 'db' } }, spec: { containers } };
  const spec = {
    replicas: 2,
    selector: { matchLabels: { app: 'db' } },
    serviceName: 'db',
    template,
  };
  await client
    .resource(statefulSets)
    .create({ metadata: { name: 'db', namespace: 'default' }, spec });
  await clock.advance('5s');
  // The set is reconciled again because of its own status update.
  expect(samples('statefulset_controller')).toContainEqual(
    expect.stringMatching(
      /^statefulset_controller_stale_sync_skips_total\{group="",resource="pods"\} [1-9]/,
    ),
  );
});

test('slices: totals of services, writes, and mirrored addresses', async () => {
  const { client, clock } = cluster;
  await run((config) => new EndpointSliceController(config));
  await run((config) => new EndpointSliceMirroringController(config));
  await client.resource(nodes).create({ metadata: { name: 'n' } });
  const ports = [{ port: 80 }];
  await client.resource(services).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports, trafficDistribution: 'PreferClose' },
  });
  await client
    .resource(services)
    .create({ metadata: { name: 'manual', namespace: 'default' }, spec: { ports } });
  await clock.advance('1s');
  for (const [index, name] of ['a', 'b'].entries()) {
    await client.resource(pods).create({
      metadata: { name, namespace: 'default', labels: { app: 'web' } },
      spec: { nodeName: 'n', containers },
    });
    const podIP = `10.0.0.${index + 1}`;
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }] };
    await client
      .resource(pods)
      .namespace('default')
      .patch(name, MERGE, { status }, { subresource: 'status' });
  }
  const addresses = [{ ip: '10.1.0.1' }, { ip: '10.1.0.2' }];
  const subsets = [{ addresses, ports }];
  await client
    .resource(endpoints)
    .create({ metadata: { name: 'manual', namespace: 'default' }, subsets });
  await clock.advance('1s');
  await client.resource(pods).namespace('default').delete('a', { gracePeriodSeconds: 0 });
  await client
    .resource(endpoints)
    .namespace('default')
    .patch('manual', MERGE, {
      subsets: [{ addresses: [{ ip: '10.1.0.1', hostname: 'h' }], ports }],
    });
  await clock.advance('1s');
  const sums = (prefix: string): readonly string[] =>
    instruments
      .text()
      .split('\n')
      .filter(
        (line) =>
          line.startsWith(prefix) && /_per_sync_sum|desired|num_|by_traffic|changes/.test(line),
      );
  const made = 'endpoint_slice_controller';
  expect(sums(made)).toEqual([
    `${made}_changes{operation="create"} 1`,
    expect.stringMatching(`^${made}_changes\\{operation="update"\\} [23]$`),
    `${made}_desired_endpoint_slices 1`,
    `${made}_endpoints_added_per_sync_sum 2`,
    `${made}_endpoints_desired 1`,
    `${made}_endpoints_removed_per_sync_sum 1`,
    expect.stringMatching(
      `^${made}_endpointslices_changed_per_sync_sum\\{topology="Disabled",traffic_distribution="PreferClose"\\} [34]$`,
    ),
    `${made}_num_endpoint_slices 1`,
    `${made}_services_count_by_traffic_distribution{traffic_distribution="PreferClose"} 1`,
  ]);
  expect(samples(`${made}_syncs`).join()).toMatch(/result="success"\} [1-9]/);
  const mirrored = 'endpoint_slice_mirroring_controller';
  expect(sums(mirrored)).toEqual([
    `${mirrored}_addresses_skipped_per_sync_sum 0`,
    `${mirrored}_changes{operation="create"} 1`,
    `${mirrored}_changes{operation="update"} 1`,
    `${mirrored}_desired_endpoint_slices 1`,
    `${mirrored}_endpoints_added_per_sync_sum 3`,
    `${mirrored}_endpoints_desired 1`,
    `${mirrored}_endpoints_removed_per_sync_sum 2`,
    `${mirrored}_endpoints_updated_per_sync_sum 0`,
    `${mirrored}_num_endpoint_slices 1`,
  ]);
  await client.resource(services).namespace('default').delete('web');
  await client.resource(services).namespace('default').delete('manual');
  await clock.advance('1s');
  expect(sums(made)).toEqual(
    expect.arrayContaining([`${made}_endpoints_desired 0`, `${made}_num_endpoint_slices 0`]),
  );
  expect(sums(mirrored)).toContain(`${mirrored}_endpoints_desired 0`);
});

test('replica sets: age of deleted pods, and delayed reconciles', async () => {
  const { client, clock } = cluster;
  await run((config) => new ReplicaManager({ ...config, kind: replicaSetKind }));
  const template = { metadata: { labels: { app: 'x' } }, spec: { containers } };
  const sets = client.resource(replicaSets).namespace('default');
  const spec = { replicas: 1, selector: { matchLabels: { app: 'x' } }, template };
  await client
    .resource(replicaSets)
    .create({ metadata: { name: 'x', namespace: 'default' }, spec });
  const scale = async (replicas: number): Promise<void> => {
    await sets.patch('x', MERGE, { spec: { replicas } });
    await clock.advance('1s');
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(clock.now()) }],
    };
    for (const { metadata, spec: its } of (await client.resource(pods).list()).items) {
      if (its.nodeName === undefined) {
        await client
          .resource(pods)
          .namespace('default')
          .patch(metadata.name, MERGE, { status }, { subresource: 'status' });
      }
    }
    await clock.advance('99s');
  };
  await scale(1);
  await scale(2);
  await scale(1);
  const ratio = 'replicaset_controller_sorting_deletion_age_ratio';
  expect(samples('replicaset_controller')).toEqual([
    `${ratio}_count 1`,
    expect.stringMatching(
      /^replicaset_controller_stale_sync_skips_total\{group="",resource="pods"\} \d+$/,
    ),
  ]);
  expect(instruments.text()).toContain(`${ratio}_sum 1\n`);
});
