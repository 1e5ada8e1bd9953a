// Upstream's scheduler_perf workloads as data, with the names and numbers of Kubernetes' own
// test/integration/scheduler_perf/{misc,affinity,topology_spreading,volumes}/performance-config.yaml,
// of those labelled «performance». The floor is upstream's threshold: the throughput in pods per
// second below which upstream's own CI fails.

import { PODS, type NodeTemplate, type PodTemplate } from './templates.ts';

export interface PodGroup {
  readonly count: number;
  /** Pod i has the template i modulo their number. */
  readonly templates: readonly PodTemplate[];
  /** The number of namespaces that the pods are spread over. Default: 1. */
  readonly namespaces?: number;
  /** The pods stay unschedulable; the benchmark does not wait for them. */
  readonly stayPending?: boolean;
  /**
   * Each pod has its own claim, bound to a volume of this CSI driver; the claim is created with the
   * pod.
   */
  readonly volumesOf?: string;
}

/** Objects that are created while pods are measured. */
export interface Churn {
  /** Each time another pod is created. */
  readonly pod: PodTemplate;
  readonly everyMs: number;
  /**
   * Each pod comes with a node without room and a Service, and all three are deleted before the
   * next ones are created. Default: false, pods stay.
   */
  readonly recreated?: boolean;
}

export interface Workload {
  readonly name: string;
  readonly nodes: { readonly count: number; readonly template?: NodeTemplate };
  /** Adds one more node, which gets all measured pods. */
  readonly theOneNode?: boolean;
  readonly existing?: PodGroup;
  /** Pods that exist before as well, and are deleted one by one while others are measured. */
  readonly deleted?: PodGroup & { readonly perSecond: number };
  readonly measured: PodGroup;
  readonly churn?: Churn;
  /** A Service in the measured pods' namespace that selects `app: web`. */
  readonly service?: boolean;
  /** Pods per second. */
  readonly floor: number;
}

const EBS = 'ebs.csi.aws.com';

/** Returns the workload with fewer nodes and pods; some of each are left. */
export function scaled(workload: Workload, scale: number): Workload {
  const smaller = (count: number): number => Math.ceil(count * scale);
  const group = <T extends PodGroup>(of: T): T => ({ ...of, count: smaller(of.count) });
  const { nodes, existing, deleted, measured } = workload;
  return {
    ...workload,
    nodes: { ...nodes, count: smaller(nodes.count) },
    measured: group(measured),
    ...(existing !== undefined && { existing: group(existing) }),
    ...(deleted !== undefined && { deleted: group(deleted) }),
  };
}

const zone1 = { zones: ['zone1'] } as const;
const threeZones = { zones: ['zone1', 'zone2', 'zone3'] } as const;
const of = (count: number, ...templates: readonly PodTemplate[]): PodGroup => ({
  count,
  templates,
});

export const WORKLOADS: readonly Workload[] = [
  {
    name: 'SchedulingBasic',
    nodes: { count: 5000 },
    existing: of(1000, PODS.plain),
    measured: of(10_000, PODS.plain),
    floor: 680,
  },
  {
    name: 'SchedulingBasic, 50,000 pods',
    nodes: { count: 5000 },
    existing: of(5000, PODS.plain),
    measured: of(50_000, PODS.plain),
    floor: 810,
  },
  {
    name: 'SchedulingDaemonset',
    nodes: { count: 15_000 },
    theOneNode: true,
    measured: of(30_000, PODS.onTheOneNode),
    floor: 1100,
  },
  {
    name: 'SchedulingWithMixedChurn',
    nodes: { count: 5000 },
    churn: { pod: PODS.tooLarge, everyMs: 1000, recreated: true },
    measured: of(10_000, PODS.plain),
    floor: 710,
  },
  {
    name: 'TopologySpreading',
    nodes: { count: 5000, template: threeZones },
    existing: of(5000, PODS.plain),
    measured: of(5000, PODS.spread),
    floor: 460,
  },
  {
    name: 'PreferredTopologySpreading',
    nodes: { count: 5000, template: threeZones },
    existing: of(5000, PODS.plain),
    measured: of(5000, PODS.preferSpread),
    floor: 340,
  },
  {
    name: 'DefaultTopologySpreading',
    nodes: { count: 5000, template: threeZones },
    existing: of(5000, PODS.plain),
    measured: of(50_000, PODS.ofService),
    service: true,
    floor: 160,
  },
  {
    name: 'SchedulingPodAntiAffinity',
    nodes: { count: 5000 },
    existing: of(1000, PODS.antiAffinity),
    measured: of(2000, PODS.antiAffinity),
    floor: 60,
  },
  {
    name: 'SchedulingPodMatchingAntiAffinity',
    nodes: { count: 5000 },
    existing: of(1000, PODS.antiAffinity),
    measured: of(5000, PODS.green),
    floor: 540,
  },
  {
    name: 'SchedulingPodAffinity',
    nodes: { count: 5000, template: zone1 },
    existing: of(5000, PODS.affinity),
    measured: of(5000, PODS.affinity),
    floor: 35,
  },
  {
    name: 'SchedulingPreferredPodAffinity',
    nodes: { count: 5000 },
    existing: of(5000, PODS.preferAffinity),
    measured: of(5000, PODS.preferAffinity),
    floor: 90,
  },
  {
    name: 'SchedulingPreferredPodAntiAffinity',
    nodes: { count: 5000 },
    existing: of(5000, PODS.preferAntiAffinity),
    measured: of(5000, PODS.preferAntiAffinity),
    floor: 90,
  },
  {
    name: 'SchedulingNodeAffinity',
    nodes: { count: 5000, template: zone1 },
    existing: of(5000, PODS.inZone),
    measured: of(10_000, PODS.inZone),
    floor: 220,
  },
  {
    name: 'MixedSchedulingBasePod',
    nodes: { count: 5000, template: zone1 },
    existing: of(
      10_000,
      PODS.plain,
      PODS.affinity,
      PODS.antiAffinity,
      PODS.preferAffinity,
      PODS.preferAntiAffinity,
    ),
    measured: of(5000, PODS.plain),
    floor: 140,
  },
  {
    name: 'PreemptionAsync',
    nodes: { count: 5000 },
    existing: of(20_000, PODS.low),
    churn: { pod: PODS.high, everyMs: 200 },
    measured: of(5000, PODS.plain),
    floor: 570,
  },
  {
    name: 'Unschedulable',
    nodes: { count: 5000 },
    existing: of(20_000, PODS.plain),
    churn: { pod: PODS.tooLarge, everyMs: 200 },
    measured: of(10_000, PODS.plain),
    floor: 600,
  },
  {
    name: 'SchedulingWhileGated',
    nodes: { count: 0 },
    theOneNode: true,
    existing: { ...of(10_000, PODS.gated), stayPending: true },
    deleted: { ...of(20_000, PODS.light), perSecond: 50 },
    measured: of(20_000, PODS.light),
    floor: 910,
  },
  {
    name: 'SchedulingSecrets',
    nodes: { count: 5000 },
    existing: of(1000, PODS.withSecret),
    measured: of(10_000, PODS.withSecret),
    floor: 790,
  },
  {
    name: 'SchedulingCSIPVs',
    nodes: { count: 5000, template: { volumes: { driver: EBS, count: 39 } } },
    existing: { ...of(5000, PODS.plain), volumesOf: EBS },
    measured: { ...of(5000, PODS.plain), volumesOf: EBS },
    floor: 100,
  },
  {
    name: 'RequiredPodAntiAffinityWithNSSelector',
    nodes: { count: 6000 },
    existing: { ...of(4000, PODS.antiAffinityByNamespaceLabel), namespaces: 100 },
    measured: of(2000, PODS.antiAffinityByNamespaceLabel),
    floor: 24,
  },
];
