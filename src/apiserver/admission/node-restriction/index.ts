// Restricts kubelets to objects of their own node, and to the fields that a kubelet may write. The
// node authorizer has already checked whether the object named in the path belongs to the node.

import type { CertificateSigningRequest } from '#api/groups/certificates/v1/index.ts';
import { parseCertificateRequest } from '#api/groups/certificates/v1/request.ts';
import {
  KUBE_API_SERVER_CLIENT_KUBELET,
  KUBELET_SERVING,
} from '#api/groups/certificates/v1/signers.ts';
import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ResourceSlice } from '#api/groups/resource/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import { nodeOfUser } from '#apiserver/authorization/node/identity.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { nodeObjection } from './nodes.ts';
import type { NodeRequest, Objection } from './objection.ts';
import { evictionObjection, podObjection, podStatusObjection } from './pods.ts';
import { tokenObjection } from './tokens.ts';

const LEASE_NAMESPACE = 'kube-node-lease';

export class NodeRestriction implements AdmissionPlugin {
  readonly name = 'NodeRestriction';
  readonly ignoresHeartbeats = true;
  readonly #services: NodeRequest['services'];

  constructor(services: NodeRequest['services']) {
    this.#services = services;
  }

  concerns({ operation }: AdmissionTarget): boolean {
    return operation !== 'CONNECT';
  }

  handles({ user }: AdmissionAttributes): boolean {
    return nodeOfUser(user) !== undefined;
  }

  /**
   * Checks the node's permission before other validation, so that a node without permission gets no
   * other errors.
   */
  admit(
    attributes: AdmissionAttributes & { readonly object: KubeObject },
  ): KubeObject | Promise<KubeObject> {
    const checked = this.#check(attributes);
    return checked === undefined ? attributes.object : checked.then(() => attributes.object);
  }

  admitRequest(attributes: AdmissionAttributes): undefined | Promise<undefined> {
    return attributes.operation === 'DELETE'
      ? this.#check(attributes)?.then(() => undefined)
      : undefined;
  }

  /**
   * Checks the request. Returns synchronously if nothing has to be looked up, since kubelets update
   * their pods all the time.
   */
  #check(attributes: AdmissionAttributes): undefined | Promise<void> {
    const refuse = (why: Objection): undefined => {
      if (why !== undefined)
        throw apierrors.forbidden(attributes.resource, nameOf(attributes), why);
    };
    const node = nodeOfUser(attributes.user) ?? '';
    if (node === '')
      return refuse(`could not determine node from user ${quote(attributes.user.name)}`);
    const why = objection({ attributes, node, services: this.#services });
    return why instanceof Promise ? why.then(refuse) : refuse(why);
  }
}

/**
 * Returns the object's name for messages: its final name, or the prefix of a name that is still to
 * be generated.
 */
function nameOf({ name, object }: AdmissionAttributes): string {
  return name || object?.metadata.name || object?.metadata.generateName || 'Unknown';
}

function objection(request: NodeRequest): Objection | Promise<Objection> {
  const { resource, subresource } = request.attributes;
  switch (resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`) {
    case 'pods':
      return ofPods(request);
    case 'nodes':
      return nodeObjection(request);
    case 'persistentvolumeclaims':
      return subresource === 'status'
        ? claimStatusObjection(request)
        : 'may only update PVC status';
    case 'serviceaccounts':
      return request.attributes.operation === 'CREATE' && subresource === 'token'
        ? tokenObjection(request)
        : undefined;
    case 'leases.coordination.k8s.io':
      return leaseObjection(request);
    case 'csinodes.storage.k8s.io':
      return isOwnName(request)
        ? undefined
        : 'can only access CSINode with the same name as the requesting node';
    case 'resourceslices.resource.k8s.io':
      return sliceObjection(request);
    case 'certificatesigningrequests.certificates.k8s.io':
      return certificateObjection(request);
    default:
      return undefined;
  }
}

function ofPods(request: NodeRequest): Objection | Promise<Objection> {
  const { operation, subresource } = request.attributes;
  switch (subresource) {
    case '':
      return podObjection(request);
    case 'status':
      return operation === 'UPDATE'
        ? podStatusObjection(request)
        : `unexpected operation ${quote(operation)}`;
    case 'eviction':
      return operation === 'CREATE'
        ? evictionObjection(request)
        : `unexpected operation ${operation}`;
    default:
      return `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`;
  }
}

function isOwnName({ attributes: { name }, node }: NodeRequest): boolean {
  return name === node;
}

function leaseObjection(request: NodeRequest): Objection {
  if (request.attributes.namespace !== LEASE_NAMESPACE) {
    return `can only access leases in the ${quote(LEASE_NAMESPACE)} system namespace`;
  }
  return isOwnName(request)
    ? undefined
    : 'can only access node lease with the same name as the requesting node';
}

function sliceObjection({ attributes, node }: NodeRequest): Objection {
  const { operation, object, oldObject } = attributes;
  const isOwn = (slice: KubeObject | undefined): boolean =>
    (slice as Immutable<ResourceSlice> | undefined)?.spec.nodeName === node;
  if (operation === 'CREATE' && !isOwn(object))
    return 'can only create ResourceSlice with the same NodeName as the requesting node';
  if (operation === 'DELETE' && !isOwn(oldObject))
    return 'can only delete ResourceSlice with the same NodeName as the requesting node';
  return undefined;
}

function claimStatusObjection({ attributes, node }: NodeRequest): Objection {
  const { operation, object, oldObject } = attributes;
  if (operation !== 'UPDATE') return `unexpected operation ${quote(operation)}`;
  const fixed = (claim: KubeObject | undefined): object => {
    const { metadata, spec, status } = claim as Immutable<PersistentVolumeClaim>;
    const { resourceVersion: _version, managedFields: _managers, ...kept } = metadata;
    const {
      capacity: _size,
      conditions: _conditions,
      allocatedResources: _given,
      allocatedResourceStatuses: _states,
      ...others
    } = status;
    return { metadata: kept, spec, status: others };
  };
  if (deepEqual(fixed(object), fixed(oldObject))) return undefined;
  return `node ${quote(node)} is not allowed to update fields other than status.quantity and status.conditions`;
}

/**
 * Returns the objection to a request for a kubelet's own certificate. The signer checks the rest of
 * the request.
 */
function certificateObjection({ attributes, node }: NodeRequest): Objection {
  if (attributes.operation !== 'CREATE') return undefined;
  const { signerName, request } = (attributes.object as Immutable<CertificateSigningRequest>).spec;
  if (signerName !== KUBELET_SERVING && signerName !== KUBE_API_SERVER_CLIENT_KUBELET)
    return undefined;
  let commonName: string;
  try {
    ({ commonName } = parseCertificateRequest(request));
  } catch (error) {
    return `unable to parse csr: ${errorMessage(error)}`;
  }
  return commonName === `system:node:${node}`
    ? undefined
    : `can only create a node CSR with CN=system:node:${node}`;
}
