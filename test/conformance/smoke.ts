// Twenty quick tests of several SIGs on simulated nodes. Every run of the project's own tests
// includes them if the suite has been built.

/** The tests' keys (see testKey). */
export const smokeTests: ReadonlySet<string> = new Set([
  '[sig-api-machinery] API priority and fairness should support FlowSchema API operations',
  '[sig-api-machinery] FieldValidation should detect unknown and duplicate fields of a typed object',
  '[sig-api-machinery] Garbage collector should delete RS created by deployment when not orphaning',
  '[sig-api-machinery] OrderedNamespaceDeletion namespace deletion should delete pod first',
  '[sig-api-machinery] Servers with support for Table transformation should return a 406 for ' +
    'a backend which does not implement metadata',
  '[sig-api-machinery] Watchers should be able to restart watching from the last resource ' +
    'version observed by the previous watch',
  '[sig-apps] Deployment RollingUpdateDeployment should delete old pods and create new ones',
  '[sig-apps] Deployment deployment should support proportional scaling',
  '[sig-apps] DisruptionController should block an eviction until the PDB is updated to allow it',
  '[sig-apps] Job should delete a job',
  '[sig-apps] ReplicaSet should adopt matching pods on creation and release no longer matching pods',
  '[sig-auth] Certificates API [Privileged:ClusterAdmin] should support CSR API operations',
  '[sig-auth] ServiceAccounts should create a serviceAccountToken and ensure a successful TokenReview',
  '[sig-cli] Kubectl client Kubectl diff should check if kubectl diff finds a difference for Deployments',
  '[sig-instrumentation] Events API should ensure that an event can be fetched, patched, deleted, and listed',
  '[sig-network] EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service',
  '[sig-network] ServiceCIDR and IPAddress API should support ServiceCIDR API operations',
  '[sig-node] Pods should run through the lifecycle of Pods and PodStatus',
  '[sig-node] RuntimeClass should schedule a Pod requesting a RuntimeClass and initialize its Overhead',
  '[sig-storage] PersistentVolumes CSI Conformance should run through the lifecycle of a PV and a PVC',
]);
