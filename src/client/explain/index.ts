// Explains the state of objects and clusters: read (gather), decide (explain, clusterProblems), and a tree of causes
// as the result.

export { type Cause, type ObjectRef, refText, rootCauses, type Severity } from './cause.ts';
export { clusterProblems, type ClusterState, type Problem } from './cluster-problems.ts';
export { explain, type Explanation } from './explain.ts';
export { gather, type Gathered, type Target } from './gather.ts';
export { findResource, servedResources, type ServedResource } from './kinds.ts';
export { observeCluster } from './observe-cluster.ts';
export type { NodeVerdict, PluginVerdict, SchedulingVerdict } from './scheduling.ts';
export { certificateProblem } from './certificates.ts';
