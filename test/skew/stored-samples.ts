// The recorded data beside one object of each kind: statuses, several managers of fields,
// and custom resources in two versions.

import type { KindManifest } from '../e2e/kinds.ts';

type Json = Readonly<Record<string, unknown>>;

const TIME = '2026-01-02T03:04:05Z';
const condition = (type: string): Json => ({
  type,
  status: 'True',
  lastTransitionTime: TIME,
  reason: 'Recorded',
  message: 'It was recorded.',
});

/** The statuses, by kind. */
export const statuses: Readonly<Record<string, Json>> = {
  CronJob: { lastScheduleTime: TIME, lastSuccessfulTime: TIME },
  DaemonSet: {
    currentNumberScheduled: 1,
    numberMisscheduled: 0,
    desiredNumberScheduled: 2,
    numberReady: 1,
    observedGeneration: 1,
  },
  Deployment: {
    observedGeneration: 1,
    replicas: 1,
    updatedReplicas: 1,
    unavailableReplicas: 1,
    conditions: [{ ...condition('Progressing'), lastUpdateTime: TIME }],
  },
  HorizontalPodAutoscaler: {
    currentReplicas: 1,
    desiredReplicas: 2,
    conditions: [condition('AbleToScale')],
    currentMetrics: [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 7 } } },
    ],
  },
  Ingress: {
    loadBalancer: { ingress: [{ ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP' }] }] },
  },
  Job: { startTime: TIME, active: 1, ready: 1, uncountedTerminatedPods: {} },
  Node: {
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    allocatable: { cpu: '3900m', memory: '7Gi', pods: '110' },
    conditions: [{ ...condition('Ready'), lastHeartbeatTime: TIME }],
    addresses: [{ type: 'InternalIP', address: '192.0.2.2' }],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    images: [{ names: ['busybox'], sizeBytes: 1_000_000 }],
  },
  PersistentVolumeClaim: {
    phase: 'Bound',
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    allocatedResources: { storage: '2Gi' },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
  },
  Pod: {
    phase: 'Running',
    hostIP: '192.0.2.2',
    hostIPs: [{ ip: '192.0.2.2' }],
    podIP: '192.0.2.9',
    podIPs: [{ ip: '192.0.2.9' }],
    startTime: TIME,
    conditions: [condition('Ready')],
  },
  PodDisruptionBudget: {
    observedGeneration: 1,
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
    disruptedPods: { p: TIME },
    conditions: [condition('DisruptionAllowed')],
  },
  ReplicaSet: { replicas: 2, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 },
  ReplicationController: { replicas: 2, readyReplicas: 1, observedGeneration: 1 },
  ResourceQuota: { hard: { pods: '4' }, used: { pods: '1' } },
  StatefulSet: {
    replicas: 2,
    readyReplicas: 1,
    currentReplicas: 1,
    updatedReplicas: 1,
    currentRevision: 'it-1',
    updateRevision: 'it-2',
    observedGeneration: 1,
  },
  VolumeAttachment: { attached: true, attachmentMetadata: { device: '/dev/x' } },
};

const GROUP = 'stored.example.com';
const schema = (more: Json = {}): Json => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          size: { type: 'integer', default: 3 },
          ports: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              required: ['name'],
              properties: {
                name: { type: 'string' },
                port: { 'x-kubernetes-int-or-string': true },
              },
            },
          },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          ...more,
        },
      },
      status: { type: 'object', properties: { lit: { type: 'boolean' } } },
    },
  },
});
const version = (name: string, storage: boolean): Json => ({
  name,
  served: true,
  storage,
  schema: schema(name === 'v2' ? { colour: { type: 'string' } } : {}),
  subresources: { status: {} },
});

/** The definition. `stored`: the version in which objects are stored. */
export const definition = (stored: 'v1' | 'v2'): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `lanterns.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'lanterns', kind: 'Lantern' },
    versions: [version('v1', stored === 'v1'), version('v2', stored === 'v2')],
  },
});
export const DEFINITION = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lanterns.${GROUP}`;
export const lanterns = (apiVersion: 'v1' | 'v2'): string =>
  `/apis/${GROUP}/${apiVersion}/namespaces/default/lanterns`;

export const lantern = (apiVersion: 'v1' | 'v2', name: string): Json => ({
  apiVersion: `${GROUP}/${apiVersion}`,
  kind: 'Lantern',
  metadata: { name },
  spec: {
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 'http' },
    ],
    free: { nested: [1, 2.5, 'three', null] },
    ...(apiVersion === 'v2' && { colour: 'red' }),
  },
});

/** A configuration that another manager applies. */
export const applied: KindManifest['manifest'] = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'it', labels: { 'example.com/applied': 'yes' } },
  data: { applied: 'value' },
};
