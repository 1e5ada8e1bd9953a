// Defaults of the core group: what a field means when it is left out, written into the object when it is created or updated, as
// Kubernetes documents each. A defaulter may change the object it is given: it is a fresh draft, straight from the decoder.

import type {
  Container,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  Lifecycle,
  LifecycleHandler,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  ReplicationController,
  ResourceRequirements,
  Secret,
  Service,
  Volume,
} from './types.ts';

export function setPodDefaults(pod: Pod): void {
  setPodSpecDefaults(pod.spec);
  pod.spec.enableServiceLinks ??= true;
  const { spec } = pod;
  // Only a pod, not a template: what is limited is requested too.
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) setRequestDefaults(container.resources);
  if (spec.resources !== undefined) setRequestDefaults(spec.resources);
  if (spec.hostNetwork) setHostNetworkPorts(spec);
}

export function setPodTemplateDefaults(template: PodTemplateSpec): void {
  setPodSpecDefaults(template.spec);
  if (template.spec.hostNetwork) setHostNetworkPorts(template.spec);
}

export function setReplicationControllerDefaults(controller: ReplicationController): void {
  const { spec, metadata } = controller;
  spec.replicas ??= 1;
  const labels = spec.template?.metadata?.labels;
  if (labels !== undefined && Object.keys(labels).length > 0) {
    if (spec.selector === undefined || Object.keys(spec.selector).length === 0) spec.selector = labels;
    if (metadata.labels === undefined || Object.keys(metadata.labels).length === 0) metadata.labels = labels;
  }
  if (spec.template !== undefined) setPodTemplateDefaults(spec.template);
}

export function setSecretDefaults(secret: Secret): void {
  // What was written as text is kept as data; the text is never answered.
  for (const [key, text] of Object.entries(secret.stringData ?? {})) {
    secret.data = { ...secret.data, [key]: Buffer.from(text, 'utf8').toString('base64') };
  }
  delete secret.stringData;
  secret.type ??= 'Opaque';
}

export function setServiceDefaults(service: Service): void {
  const { spec } = service;
  spec.sessionAffinity ??= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10_800 } };
  }
  spec.type ??= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ??= 'TCP';
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port;
  }
  const reachableFromOutside = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  if (reachableFromOutside || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0))
    spec.externalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  if (reachableFromOutside || spec.type === 'ClusterIP') spec.internalTrafficPolicy ??= 'Cluster';
}

function setPodSpecDefaults(spec: PodSpec): void {
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.restartPolicy ??= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ??= 'default-scheduler';
  // The older name of the field is kept equal to the newer one.
  if (spec.serviceAccountName !== undefined) spec.serviceAccount = spec.serviceAccountName;
  else if (spec.serviceAccount !== undefined) spec.serviceAccountName = spec.serviceAccount;
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) setContainerDefaults(container);
  for (const container of spec.containers) setContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) setContainerDefaults(container);
  for (const constraint of spec.topologySpreadConstraints ?? []) {
    constraint.nodeAffinityPolicy ??= 'Honor';
    constraint.nodeTaintsPolicy ??= 'Ignore';
  }
}

function setContainerDefaults(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ??= imageTag(container.image ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
  for (const variable of container.env ?? []) setEnvVarDefaults(variable);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe !== undefined) setProbeDefaults(probe);
  }
  if (container.lifecycle !== undefined) setLifecycleDefaults(container.lifecycle);
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
  for (const handler of [lifecycle.postStart, lifecycle.preStop] as (LifecycleHandler | undefined)[]) {
    if (handler?.httpGet !== undefined) setHttpGetDefaults(handler.httpGet);
  }
}

function setHttpGetDefaults(action: HTTPGetAction): void {
  action.path ??= '/';
  action.scheme ??= 'HTTP';
}

/** The tag of an image reference, 'latest' if it has neither tag nor digest, undefined if only a digest. */
export function imageTag(image: string): string | undefined {
  const [name = '', digest] = image.split('@');
  const afterSlash = name.slice(name.lastIndexOf('/') + 1);
  const colon = afterSlash.indexOf(':');
  if (colon >= 0) return afterSlash.slice(colon + 1);
  return digest === undefined ? 'latest' : undefined;
}

/** Mode 0644, as an integer: the default of files projected into a volume. */
const FILE_MODE = 0o644;

function setVolumeDefaults(volume: Volume): void {
  const sources = Object.keys(volume).filter((key) => key !== 'name');
  if (sources.length === 0) volume.emptyDir = {};
  if (volume.secret !== undefined) volume.secret.defaultMode ??= FILE_MODE;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= FILE_MODE;
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= FILE_MODE;
    for (const item of volume.downwardAPI.items ?? []) if (item.fieldRef !== undefined) item.fieldRef.apiVersion ??= 'v1';
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= FILE_MODE;
    for (const source of volume.projected.sources ?? []) {
      if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
      for (const item of source.downwardAPI?.items ?? []) if (item.fieldRef !== undefined) item.fieldRef.apiVersion ??= 'v1';
    }
  }
  if (volume.iscsi !== undefined) volume.iscsi.iscsiInterface ??= 'default';
  if (volume.rbd !== undefined) {
    volume.rbd.pool ??= 'rbd';
    volume.rbd.user ??= 'admin';
    volume.rbd.keyring ??= '/etc/ceph/keyring';
  }
  if (volume.azureDisk !== undefined) {
    volume.azureDisk.cachingMode ??= 'ReadWrite';
    volume.azureDisk.fsType ??= 'ext4';
    volume.azureDisk.readOnly ??= false;
    volume.azureDisk.kind ??= 'Shared';
  }
  if (volume.scaleIO !== undefined) {
    volume.scaleIO.storageMode ??= 'ThinProvisioned';
    volume.scaleIO.fsType ??= 'xfs';
  }
  const claim = volume.ephemeral?.volumeClaimTemplate;
  if (claim !== undefined) claim.spec.volumeMode ??= 'Filesystem';
  if (volume.image !== undefined)
    volume.image.pullPolicy ??= imageTag(volume.image.reference ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
}

function setRequestDefaults(resources: ResourceRequirements): void {
  if (resources.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** On the host's network a container's port is the host's. */
function setHostNetworkPorts(spec: PodSpec): void {
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const port of container.ports ?? [])
      if (port.hostPort === undefined || port.hostPort === 0) port.hostPort = port.containerPort;
  }
}
