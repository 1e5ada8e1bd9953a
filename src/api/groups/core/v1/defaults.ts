// Defaults of the core group, written into the object on create and update, as Kubernetes documents
// them. A defaulter may modify its object, which was just decoded.

import { encodeBase64 } from '#api/machinery/codec/base64.ts';
import type { Defaulters } from '#api/machinery/scheme.ts';
import { setOwn } from '#machinery/deep.ts';
import { MILLI, parseQuantity } from '#machinery/text/quantity.ts';
import {
  aggregateContainerResources,
  isHugePages,
  isOvercommitAllowed,
  isPodLevelResource,
} from './pod-resources.ts';
import type {
  Endpoints,
  Container,
  ContainerStatus,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  LimitRange,
  LimitRangeItem,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  Pod,
  PodSpec,
  PodStatus,
  PodTemplate,
  PodTemplateSpec,
  Probe,
  ReplicationController,
  ResourceList,
  ResourceQuota,
  ResourceRequirements,
  Secret,
  Service,
  Volume,
} from './types.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

export function setPodDefaults(pod: Pod): void {
  const { spec } = pod;
  // Requests default to limits in a pod, but not in a template.
  for (const container of [...(spec.initContainers ?? []), ...spec.containers])
    setRequestDefaults(container.resources);
  if (spec.resources !== undefined) setPodResourceDefaults(spec, spec.resources);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork === true) setHostNetworkPorts(spec);
  setPodSpecDefaults(spec);
  setPodStatusDefaults(pod.status);
}

export function setPodTemplateDefaults(template: PodTemplateSpec): void {
  setPodSpecDefaults(template.spec);
}

function setReplicationControllerDefaults(controller: ReplicationController): void {
  const { spec, metadata } = controller;
  spec.replicas ??= 1;
  const labels = spec.template?.metadata.labels;
  if (labels !== undefined && Object.keys(labels).length > 0) {
    if (spec.selector === undefined || Object.keys(spec.selector).length === 0)
      spec.selector = { ...labels };
    if (metadata.labels === undefined || Object.keys(metadata.labels).length === 0)
      metadata.labels = { ...labels };
  }
  if (spec.template !== undefined) setPodTemplateDefaults(spec.template);
}

/**
 * Sets the label by which a namespace can be selected. A namespace with a generated name gets it
 * later.
 */
function setNamespaceDefaults(namespace: Namespace): void {
  const { metadata } = namespace;
  if ((metadata.name ?? '') !== '')
    metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
  namespace.status.phase ??= 'Active';
}

function setNodeDefaults(node: Node): void {
  const { spec, status } = node;
  const cidrs = firstOf(spec.podCIDR, spec.podCIDRs);
  if (cidrs !== undefined) {
    spec.podCIDR = cidrs[0]!;
    spec.podCIDRs = cidrs;
  }
  for (const list of [status.capacity, status.allocatable]) roundUp(list);
  if (hasNames(status.capacity) && !hasNames(status.allocatable))
    status.allocatable = { ...status.capacity };
}

/** Sets the defaults of a claim, also of claim templates in a stateful set. */
export function setPersistentVolumeClaimDefaults({ spec, status }: PersistentVolumeClaim): void {
  setClaimSpecDefaults(spec);
  status.phase ??= 'Pending';
  for (const list of [status.capacity, status.allocatedResources]) roundUp(list);
}

function setPersistentVolumeDefaults({ spec, status }: PersistentVolume): void {
  status.phase ??= 'Pending';
  spec.persistentVolumeReclaimPolicy ??= 'Retain';
  spec.volumeMode ??= 'Filesystem';
  setPersistentVolumeSpecDefaults(spec);
}

/** Sets the defaults of a volume, also of inline volumes in an attachment. */
export function setPersistentVolumeSpecDefaults(spec: PersistentVolumeSpec): void {
  roundUp(spec.capacity);
  setSourceDefaults(spec);
}

function setPodTemplateObjectDefaults({ template }: PodTemplate): void {
  setPodTemplateDefaults(template);
}

function setResourceQuotaDefaults({ spec, status }: ResourceQuota): void {
  for (const list of [spec.hard, status.hard, status.used]) roundUp(list);
}

function setLimitRangeDefaults({ spec }: LimitRange): void {
  for (const item of spec.limits ?? []) {
    for (const list of [
      item.max,
      item.min,
      item.default,
      item.defaultRequest,
      item.maxLimitRequestRatio,
    ])
      roundUp(list);
    if (item.type === 'Container') setContainerLimitDefaults(item);
  }
}

/**
 * Sets the defaults of containers: the default limit is the maximum; the default request is the
 * limit, or otherwise the minimum.
 */
function setContainerLimitDefaults(item: LimitRangeItem): void {
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

function setSecretDefaults(secret: Secret): void {
  // stringData is converted to data and never returned.
  if (secret.stringData !== undefined && Object.keys(secret.stringData).length > 0) {
    const data = { ...secret.data };
    for (const [key, text] of Object.entries(secret.stringData))
      setOwn(data, key, encodeBase64(text));
    secret.data = data;
  }
  delete secret.stringData;
  secret.type ??= 'Opaque';
}

function setEndpointsDefaults({ subsets = [] }: Endpoints): void {
  for (const { ports = [] } of subsets) for (const port of ports) port.protocol ??= 'TCP';
}

function setServiceDefaults(service: Service): void {
  const { spec } = service;
  spec.sessionAffinity ??= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (
    spec.sessionAffinity === 'ClientIP' &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  ) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10_800 } };
  }
  spec.type ??= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ??= 'TCP';
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '')
      port.targetPort = port.port;
  }
  const reachableFromOutside = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  if (reachableFromOutside || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0))
    spec.externalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  if (reachableFromOutside || spec.type === 'ClusterIP') spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') {
    for (const point of service.status.loadBalancer.ingress ?? [])
      if (point.ip !== undefined) point.ipMode ??= 'VIP';
  }
}

function setPodSpecDefaults(spec: PodSpec): void {
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.restartPolicy ??= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ??= 'default-scheduler';
  // The deprecated field is kept equal to its successor.
  if (spec.serviceAccountName !== undefined) spec.serviceAccount = spec.serviceAccountName;
  else if (spec.serviceAccount !== undefined) spec.serviceAccountName = spec.serviceAccount;
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) setContainerDefaults(container);
  for (const container of spec.containers) setContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) setContainerDefaults(container);
  for (const list of [spec.overhead, spec.resources?.requests, spec.resources?.limits])
    roundUp(list);
}

/**
 * Keeps the older field with one address equal to the newer one with up to two. If they differ, the
 * older one counts.
 */
function setPodStatusDefaults(status: PodStatus): void {
  const addresses = firstOf(
    status.podIP,
    status.podIPs?.map(({ ip }) => ip),
  );
  if (addresses !== undefined) {
    status.podIP = addresses[0]!;
    status.podIPs = addresses.map((ip) => ({ ip }));
  }
  roundUp(status.allocatedResources);
  for (const list of [status.resources?.requests, status.resources?.limits]) roundUp(list);
  for (const name of [
    'initContainerStatuses',
    'containerStatuses',
    'ephemeralContainerStatuses',
  ] as const) {
    for (const container of status[name] ?? []) setContainerStatusDefaults(container);
  }
}

function setContainerStatusDefaults({ allocatedResources, resources }: ContainerStatus): void {
  for (const list of [allocatedResources, resources?.requests, resources?.limits]) roundUp(list);
}

function firstOf(
  single: string | undefined,
  list: readonly string[] | undefined,
): string[] | undefined {
  if (list === undefined || list.length === 0) return single === undefined ? undefined : [single];
  return single === undefined || single === list[0] ? [...list] : [single];
}

function setContainerDefaults(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ??=
    imageTag(container.image ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
  for (const variable of container.env ?? []) setEnvVarDefaults(variable);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe !== undefined) setProbeDefaults(probe);
  }
  if (container.lifecycle !== undefined) setLifecycleDefaults(container.lifecycle);
  for (const list of [container.resources.requests, container.resources.limits]) roundUp(list);
}

function setEnvVarDefaults(variable: EnvVar): void {
  const { fieldRef, resourceFieldRef, fileKeyRef } = variable.valueFrom ?? {};
  if (fieldRef !== undefined) fieldRef.apiVersion ??= 'v1';
  if (resourceFieldRef !== undefined) resourceFieldRef.divisor ??= '0';
  if (fileKeyRef !== undefined) fileKeyRef.optional ??= false;
}

function setProbeDefaults(probe: Probe): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (probe.httpGet !== undefined) setHttpGetDefaults(probe.httpGet);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function setLifecycleDefaults(lifecycle: Lifecycle): void {
  for (const handler of [lifecycle.postStart, lifecycle.preStop] as (
    | LifecycleHandler
    | undefined
  )[]) {
    if (handler?.httpGet !== undefined) setHttpGetDefaults(handler.httpGet);
  }
}

function setHttpGetDefaults(action: HTTPGetAction): void {
  action.path ??= '/';
  action.scheme ??= 'HTTP';
}

const IMAGE_COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const IMAGE_HOST_COMPONENT = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const IMAGE_HOST = `(?:${IMAGE_HOST_COMPONENT}(?:\\.${IMAGE_HOST_COMPONENT})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const IMAGE_DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const IMAGE = new RegExp(
  `^(?:${IMAGE_HOST}/)?${IMAGE_COMPONENT}(?:/${IMAGE_COMPONENT})*(?::([\\w][\\w.-]{0,127}))?(@${IMAGE_DIGEST})?$`,
);

/**
 * Returns the tag of an image reference, 'latest' if it has neither tag nor digest; undefined if it
 * has only a digest, or is invalid.
 */
export function imageTag(image: string): string | undefined {
  const match = IMAGE.exec(image);
  if (match === null) return undefined;
  const [, tag, digest] = match;
  return tag ?? (digest === undefined ? 'latest' : undefined);
}

/** Mode 0644, the default of files projected into a volume. */
const FILE_MODE = 0o644;

function setVolumeDefaults(volume: Volume): void {
  const sources = Object.keys(volume).filter((key) => key !== 'name');
  if (sources.length === 0) volume.emptyDir = {};
  if (volume.secret !== undefined) volume.secret.defaultMode ??= FILE_MODE;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= FILE_MODE;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= FILE_MODE;
    for (const item of volume.downwardAPI.items ?? [])
      if (item.fieldRef !== undefined) item.fieldRef.apiVersion ??= 'v1';
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= FILE_MODE;
    for (const source of volume.projected.sources ?? []) {
      if (source.serviceAccountToken !== undefined)
        source.serviceAccountToken.expirationSeconds ??= 3600;
      for (const item of source.downwardAPI?.items ?? [])
        if (item.fieldRef !== undefined) item.fieldRef.apiVersion ??= 'v1';
    }
  }
  setSourceDefaults(volume);
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim !== undefined) setClaimSpecDefaults(claim.spec);
  if (volume.image !== undefined)
    volume.image.pullPolicy ??=
      imageTag(volume.image.reference ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
}

/** Sets the defaults of sources that pods and persistent volumes share. */
function setSourceDefaults(source: Volume | PersistentVolumeSpec): void {
  if (source.hostPath !== undefined) source.hostPath.type ??= '';
  if (source.iscsi !== undefined) source.iscsi.iscsiInterface ??= 'default';
  if (source.rbd !== undefined) {
    source.rbd.pool ??= 'rbd';
    source.rbd.user ??= 'admin';
    source.rbd.keyring ??= '/etc/ceph/keyring';
  }
  if (source.azureDisk !== undefined) {
    source.azureDisk.cachingMode ??= 'ReadWrite';
    source.azureDisk.fsType ??= 'ext4';
    source.azureDisk.readOnly ??= false;
    source.azureDisk.kind ??= 'Shared';
  }
  if (source.scaleIO !== undefined) {
    source.scaleIO.storageMode ??= 'ThinProvisioned';
    source.scaleIO.fsType ??= 'xfs';
  }
}

function setClaimSpecDefaults(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
  for (const list of [spec.resources.requests, spec.resources.limits]) roundUp(list);
}

function setRequestDefaults(resources: ResourceRequirements): void {
  if (!hasNames(resources.limits)) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/**
 * Sets the pod's own resources, if it has any, from those of its containers. Limits are set for
 * huge pages only. If the pod then has limits, missing requests are set: to the containers'
 * requests, or else to the limits.
 */
function setPodResourceDefaults(spec: PodSpec, resources: ResourceRequirements): void {
  if (!hasNames(resources.limits) && !hasNames(resources.requests)) return;
  const limits = { ...resources.limits };
  for (const [name, amount] of aggregateContainerResources(spec, 'limits')) {
    if (isHugePages(name) && ownValue(resources.requests, name) === undefined)
      limits[name] ??= amount.toString();
  }
  if (!hasNames(limits)) return;
  resources.limits = limits;
  const requests = { ...resources.requests };
  for (const [name, amount] of aggregateContainerResources(spec, 'requests')) {
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) requests[name] ??= amount.toString();
  }
  for (const [name, amount] of Object.entries(limits))
    if (isPodLevelResource(name)) requests[name] ??= amount;
  if (hasNames(requests)) resources.requests = requests;
}

/** Reports whether the list contains resources. */
function hasNames(list: ResourceList | undefined): list is ResourceList {
  return list !== undefined && Object.keys(list).length > 0;
}

/** The suffix of a canonical quantity below a thousandth. */
const BELOW_MILLI = /[nu]$|e-/;

/** Rounds up to thousandths, the smallest unit. */
function roundUp(list: ResourceList | undefined): void {
  if (list === undefined) return;
  for (const [name, amount] of Object.entries(list)) {
    if (BELOW_MILLI.test(amount)) list[name] = parseQuantity(amount).roundUp(MILLI).toString();
  }
}

/** Sets host ports: on the host's network a container's port is the host's. */
function setHostNetworkPorts(spec: PodSpec): void {
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const port of container.ports ?? [])
      if (port.hostPort === undefined || port.hostPort === 0) port.hostPort = port.containerPort;
  }
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  Endpoints: setEndpointsDefaults,
  LimitRange: setLimitRangeDefaults,
  Namespace: setNamespaceDefaults,
  Node: setNodeDefaults,
  PersistentVolume: setPersistentVolumeDefaults,
  PersistentVolumeClaim: setPersistentVolumeClaimDefaults,
  Pod: setPodDefaults,
  PodTemplate: setPodTemplateObjectDefaults,
  ReplicationController: setReplicationControllerDefaults,
  ResourceQuota: setResourceQuotaDefaults,
  Secret: setSecretDefaults,
  Service: setServiceDefaults,
};
