// The controller of aggregated cluster roles.

export { ClusterRoleAggregationController } from './cluster-role-aggregation-controller.ts';
