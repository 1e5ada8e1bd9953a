// The group's types as validation sees them: it never changes what it checks.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as apps from '../types.ts';

export type ControllerRevision = Immutable<apps.ControllerRevision>;
export type DaemonSet = Immutable<apps.DaemonSet>;
export type DaemonSetSpec = Immutable<apps.DaemonSetSpec>;
export type DaemonSetUpdateStrategy = Immutable<apps.DaemonSetUpdateStrategy>;
export type Deployment = Immutable<apps.Deployment>;
export type DeploymentSpec = Immutable<apps.DeploymentSpec>;
export type DeploymentStrategy = Immutable<apps.DeploymentStrategy>;
export type ReplicaSet = Immutable<apps.ReplicaSet>;
export type StatefulSet = Immutable<apps.StatefulSet>;
export type StatefulSetSpec = Immutable<apps.StatefulSetSpec>;
export type StatefulSetUpdateStrategy = Immutable<apps.StatefulSetUpdateStrategy>;
