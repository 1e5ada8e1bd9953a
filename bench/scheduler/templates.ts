// The nodes and pods of the workloads: shapes, not code. Sizes and what pods ask for are those of
// upstream's scheduler_perf.

import type { Container, Node, Pod, PodSpec } from '#api/groups/core/v1/index.ts';

export const ZONE = 'topology.kubernetes.io/zone';
export const HOST = 'kubernetes.io/hostname';

/** What differs between nodes of one workload. */
export interface NodeTemplate {
  /** Node i is in zone i modulo these; without them it is in none. */
  readonly zones?: readonly string[];
  readonly capacity?: Readonly<Record<string, string>>;
  /** How many volumes of a CSI driver each node takes. */
  readonly volumes?: { readonly driver: string; readonly count: number };
}

const NODE_CAPACITY = { cpu: '4', memory: '32Gi', pods: '110' } as const;

export interface NewNode {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Record<string, never>;
  readonly status: Pick<Node['status'], 'capacity' | 'allocatable' | 'conditions'>;
}

/** Node `name`, which is ready. */
export function nodeOf(
  name: string,
  i: number,
  { zones, capacity = NODE_CAPACITY }: NodeTemplate,
): NewNode {
  const zone = zones === undefined ? undefined : zones[i % zones.length];
  const time = '2026-01-01T00:00:00Z';
  return {
    metadata: { name, labels: { [HOST]: name, ...(zone !== undefined && { [ZONE]: zone }) } },
    spec: {},
    status: {
      capacity,
      allocatable: capacity,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: '',
          lastHeartbeatTime: time,
          lastTransitionTime: time,
        },
      ],
    },
  };
}

export interface PodTemplate {
  readonly labels?: Readonly<Record<string, string>>;
  /** What its container has beside name and image. Default: a port, and as much as PLAIN. */
  readonly container?: Pick<Container, 'resources'> & Partial<Pick<Container, 'ports'>>;
  /** Default: that of everybody, 0. */
  readonly priority?: number;
  readonly spec?: Partial<PodSpec>;
}

export type NewPod = { metadata: Pick<Pod['metadata'], 'name' | 'labels'>; spec: PodSpec };

/** A container that asks for so much, and gets no more. */
const limited = (cpu: string) => {
  const resources = { cpu, memory: '500Mi' };
  return { ports: [{ containerPort: 80 }], resources: { limits: resources, requests: resources } };
};
const PLAIN = limited('100m');
/** Asks for nothing. */
const LIGHT = { resources: {} };

/** The class that gives pods this priority. */
export const priorityClassOf = (priority: number): string => `priority-${priority}`;

/**
 * `byClass`: its priority comes from a class, as an API server with all its admission wants it;
 * otherwise it is said as a number.
 */
export function podOf(name: string, template: PodTemplate, byClass: boolean): NewPod {
  const { labels, container = PLAIN, priority, spec } = template;
  const important =
    priority !== undefined &&
    (byClass ? { priorityClassName: priorityClassOf(priority) } : { priority });
  return {
    metadata: { name, ...(labels !== undefined && { labels }) },
    spec: {
      containers: [{ name: 'pause', image: 'registry.k8s.io/pause:3.10', ...container }],
      ...important,
      ...spec,
    },
  };
}

const blue = { color: 'blue' };
const green = { color: 'green' };
const yellow = { color: 'yellow' };
const red = { color: 'red' };

const term = (
  topologyKey: string,
  matchLabels: Readonly<Record<string, string>>,
  more: object = {},
) => ({
  topologyKey,
  labelSelector: { matchLabels },
  ...more,
});
const spread = (whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway'): Partial<PodSpec> => ({
  topologySpreadConstraints: [
    { maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable, labelSelector: { matchLabels: blue } },
  ],
});
/** The workloads' pods are in these two. */
const namespaces = ['existing', 'measured'];

export const PODS = {
  plain: {},
  spread: { labels: blue, spec: spread('DoNotSchedule') },
  preferSpread: { labels: blue, spec: spread('ScheduleAnyway') },
  /** Spread by the profile's own defaults, since a Service selects them. */
  ofService: { labels: { app: 'web' }, container: LIGHT },
  antiAffinity: {
    labels: green,
    spec: {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [term(HOST, green, { namespaces })],
        },
      },
    },
  },
  /** What those with anti-affinity keep away from. */
  green: { labels: green },
  affinity: {
    labels: blue,
    spec: {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [term(ZONE, blue, { namespaces })],
        },
      },
    },
  },
  preferAffinity: {
    labels: red,
    spec: {
      affinity: {
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: term(HOST, red, { namespaces }) },
          ],
        },
      },
    },
  },
  preferAntiAffinity: {
    labels: yellow,
    spec: {
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: term(HOST, yellow, { namespaces }) },
          ],
        },
      },
    },
  },
  inZone: {
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: 'In', values: ['zone1', 'zone2'] }] },
            ],
          },
        },
      },
    },
  },
  onTheOneNode: {
    container: LIGHT,
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['the-one'] }] },
            ],
          },
        },
      },
    },
  },
  withSecret: {
    spec: { volumes: [{ name: 'secret', secret: { secretName: 'secret' } }] },
  },
  /** Four of them leave a node no room for one that is important, but some for plain ones. */
  low: { container: limited('900m'), spec: { terminationGracePeriodSeconds: 0 } },
  high: { container: limited('3'), priority: 10 },
  /** More than any node has, and important. */
  tooLarge: {
    container: {
      ports: [{ containerPort: 80 }],
      resources: { requests: { cpu: '9', memory: '500Mi' } },
    },
    priority: 10,
  },
  light: { container: LIGHT, spec: { terminationGracePeriodSeconds: 0 } },
  gated: { container: LIGHT, spec: { schedulingGates: [{ name: 'gate' }] } },
  antiAffinityByNamespaceLabel: {
    labels: green,
    spec: {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            term(HOST, green, { namespaceSelector: { matchLabels: { team: 'devops' } } }),
          ],
        },
      },
    },
  },
} as const satisfies Readonly<Record<string, PodTemplate>>;
