// The nodes and pods of the workloads, as data. Sizes and requests are those of upstream's
// scheduler_perf.

import type { Container, Node, Pod, PodSpec } from '#api/groups/core/v1/index.ts';

export const ZONE = 'topology.kubernetes.io/zone';
export const HOST = 'kubernetes.io/hostname';

/** The differences between the nodes of workloads. */
export interface NodeTemplate {
  /** Node i is in zone i modulo their number. Absent: nodes are in no zone. */
  readonly zones?: readonly string[];
  readonly capacity?: Readonly<Record<string, string>>;
  /** The number of volumes of a CSI driver that each node takes. */
  readonly volumes?: { readonly driver: string; readonly count: number };
}

const NODE_CAPACITY = { cpu: '4', memory: '32Gi', pods: '110' } as const;

export interface NewNode {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Record<string, never>;
  readonly status: Pick<Node['status'], 'capacity' | 'allocatable' | 'conditions'>;
}

/** Returns the node `name`, which is ready. */
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
  /** The container's fields beside name and image. Default: a port, and the requests of PLAIN. */
  readonly container?: Pick<Container, 'resources'> & Partial<Pick<Container, 'ports'>>;
  /** Default: 0, the priority of pods without a class. */
  readonly priority?: number;
  readonly spec?: Partial<PodSpec>;
}

export type NewPod = { metadata: Pick<Pod['metadata'], 'name' | 'labels'>; spec: PodSpec };

/** Returns a container's resources with equal requests and limits. */
const limited = (cpu: string) => {
  const resources = { cpu, memory: '500Mi' };
  return { ports: [{ containerPort: 80 }], resources: { limits: resources, requests: resources } };
};
const PLAIN = limited('100m');
/** No requests. */
const LIGHT = { resources: {} };

/** Returns the name of the class that gives pods this priority. */
export const priorityClassOf = (priority: number): string => `priority-${priority}`;

/**
 * Returns a pod. `byClass`: its priority comes from a class, as the Priority admission plugin
 * requires; otherwise the pod has the number itself.
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
/** The workloads' pods are in these two namespaces. */
const namespaces = ['existing', 'measured'];

export const PODS = {
  plain: {},
  spread: { labels: blue, spec: spread('DoNotSchedule') },
  preferSpread: { labels: blue, spec: spread('ScheduleAnyway') },
  /** A Service selects these pods, so the profile's default constraints spread them. */
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
  /** The label that pods with anti-affinity keep away from. */
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
  /**
   * Four of these pods leave a node no room for a pod with priority, but room for some plain ones.
   */
  low: { container: limited('900m'), spec: { terminationGracePeriodSeconds: 0 } },
  high: { container: limited('3'), priority: 10 },
  /** A pod with priority that requests more than any node has. */
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
