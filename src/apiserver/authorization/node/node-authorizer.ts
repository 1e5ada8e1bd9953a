// The Node authorizer. Kubelets may do what nodes need, but only with objects of their node: the
// secrets, config maps, claims and volumes that its pods refer to, its Node, its Lease, its
// CSINode, its slices, its pods. It checks the path of a request; the admission plugin
// NodeRestriction checks the content.

import type { PolicyRule } from '#api/groups/rbac/v1/index.ts';
import * as fields from '#machinery/selectors/fields.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { UserInfo } from '#apiserver/request.ts';
import {
  ALLOW,
  type Attributes,
  type Authorizer,
  type Decision,
  NO_OPINION,
  type RulesAnswer,
} from '../authorizer.ts';
import { NODE_RULES } from '../policy/cluster-roles.ts';
import { can } from '../policy/words.ts';
import { allows } from '../rbac/rules.ts';
import type { GraphKind } from './graph.ts';
import { nodeOfUser } from './identity.ts';

const LEASE_NAMESPACE = 'kube-node-lease';

const RULES: readonly PolicyRule[] = [
  ...NODE_RULES,
  // A kubelet renews its own client certificate.
  can('create', 'certificates.k8s.io', 'certificatesigningrequests/selfnodeclient'),
];

const no = (reason: string): Decision => ({ decision: 'noOpinion', reason });

/** Knows which objects a node needs. */
export interface NodeConnections {
  /** Reports whether the object is connected with the node. Rejects if that cannot be read. */
  leadsTo(node: string, kind: GraphKind, namespace: string, name: string): Awaitable<boolean>;
}

export class NodeAuthorizer implements Authorizer {
  readonly #graph: NodeConnections;

  constructor(graph: NodeConnections) {
    this.#graph = graph;
  }

  authorize(attributes: Attributes): Awaitable<Decision> {
    const node = nodeOfUser(attributes.user);
    if (node === undefined) return NO_OPINION;
    if (node === '') return no(`unknown node for user ${quote(attributes.user.name)}`);
    return (
      (attributes.isResourceRequest ? this.#ofResource(node, attributes) : undefined) ??
      byRules(attributes)
    );
  }

  rulesFor(user: UserInfo): RulesAnswer {
    // The permissions depend on the node's pods, so they cannot be listed.
    return { resourceRules: [], nonResourceRules: [], incomplete: nodeOfUser(user) !== undefined };
  }

  /**
   * Returns the decision for resources that differ by node; undefined for those with the same rules
   * for all nodes.
   */
  #ofResource(node: string, attributes: Attributes): Awaitable<Decision> | undefined {
    const { apiGroup, resource, subresource } = attributes;
    switch (apiGroup === '' ? resource : `${resource}.${apiGroup}`) {
      case 'secrets':
        return this.#read(node, 'secret', attributes);
      case 'configmaps':
        return this.#read(node, 'configmap', attributes);
      case 'persistentvolumeclaims':
        return subresource === 'status'
          ? this.#updateStatus(node, 'pvc', attributes)
          : this.#get(node, 'pvc', attributes);
      case 'persistentvolumes':
        return this.#get(node, 'pv', attributes);
      case 'resourceclaims.resource.k8s.io':
        return this.#get(node, 'resourceclaim', attributes);
      case 'volumeattachments.storage.k8s.io':
        return this.#get(node, 'volumeattachment', attributes);
      case 'serviceaccounts':
        return this.#serviceAccount(node, attributes);
      case 'leases.coordination.k8s.io':
        return lease(node, attributes);
      case 'csinodes.storage.k8s.io':
        return csiNode(node, attributes);
      case 'resourceslices.resource.k8s.io':
        return this.#resourceSlice(node, attributes);
      case 'nodes':
        return itself(node, attributes);
      case 'pods':
        return this.#pod(node, attributes);
      default:
        return undefined;
    }
  }

  #read(node: string, kind: GraphKind, attributes: Attributes): Awaitable<Decision> {
    const { verb, subresource, namespace } = attributes;
    if (verb !== 'get' && verb !== 'list' && verb !== 'watch')
      return no('can only read resources of this type');
    if (subresource !== '') return no('cannot read subresource');
    if (namespace === '') return no('can only read namespaced object of this type');
    return this.#related(node, kind, attributes);
  }

  #get(node: string, kind: GraphKind, attributes: Attributes): Awaitable<Decision> {
    if (attributes.verb !== 'get') return no('can only get individual resources of this type');
    if (attributes.subresource !== '') return no('cannot get subresource');
    return this.#related(node, kind, attributes);
  }

  #updateStatus(node: string, kind: GraphKind, attributes: Attributes): Awaitable<Decision> {
    const { verb } = attributes;
    return verb === 'update' || verb === 'patch'
      ? this.#related(node, kind, attributes)
      : no('can only get/update/patch this type');
  }

  #serviceAccount(node: string, attributes: Attributes): Awaitable<Decision> {
    const { verb, subresource, name } = attributes;
    if (verb === 'get' && subresource === '') return this.#read(node, 'serviceaccount', attributes);
    if (verb !== 'create' || name === '')
      return no('can only create tokens for individual service accounts');
    if (subresource !== 'token') return no('can only create token subresource of serviceaccount');
    return this.#related(node, 'serviceaccount', attributes);
  }

  #resourceSlice(node: string, attributes: Attributes): Awaitable<Decision> {
    if (attributes.subresource !== '') return no('cannot authorize ResourceSlice subresources');
    switch (attributes.verb) {
      case 'create':
        // NodeRestriction checks the owner, which is in the object.
        return ALLOW;
      case 'get':
      case 'update':
      case 'patch':
      case 'delete':
        return this.#related(node, 'resourceslice', attributes);
      case 'watch':
      case 'list':
      case 'deletecollection':
        return selects(attributes, 'spec.nodeName', node)
          ? ALLOW
          : no('can only list/watch/deletecollection resourceslices with nodeName field selector');
      default:
        return no(
          'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, ' +
            'update, patch, delete, deletecollection',
        );
    }
  }

  #pod(node: string, attributes: Attributes): Awaitable<Decision> {
    const { subresource, verb, name } = attributes;
    switch (`${verb} ${subresource}`) {
      case 'get ':
        return this.#get(node, 'pod', attributes);
      case 'list ':
      case 'watch ':
        if (selects(attributes, 'spec.nodeName', node)) return ALLOW;
        if (name !== '') return this.#related(node, 'pod', attributes);
        return no('can only list/watch pods with spec.nodeName field selector');
      // NodeRestriction checks the node of the pod.
      case 'create ':
      case 'delete ':
      case 'update status':
      case 'patch status':
      case 'create eviction':
        return ALLOW;
      default:
        return NO_OPINION;
    }
  }

  #related(node: string, kind: GraphKind, { namespace, name }: Attributes): Awaitable<Decision> {
    if (name === '') return no('No Object name found');
    const leads = this.#graph.leadsTo(node, kind, namespace, name);
    return typeof leads === 'boolean'
      ? byConnection(node, leads)
      : leads.then((connected) => byConnection(node, connected), unknownConnection);
  }
}

const byConnection = (node: string, connected: boolean): Decision =>
  connected ? ALLOW : no(`no relationship found between node '${node}' and this object`);

function unknownConnection(error: unknown): Decision {
  const message = `the pods of the node cannot be read: ${errorMessage(error)}`;
  return { ...no(message), error: message };
}

const byRules = (attributes: Attributes): Decision =>
  RULES.some((rule) => allows(rule, attributes)) ? ALLOW : NO_OPINION;

function isReadOrWriteOfOne(verb: string): boolean {
  return (
    verb === 'get' ||
    verb === 'create' ||
    verb === 'update' ||
    verb === 'patch' ||
    verb === 'delete'
  );
}

/**
 * Decides about Leases. The name of a new Lease is in the object, where NodeRestriction checks it.
 */
function lease(node: string, { verb, namespace, name }: Attributes): Decision {
  if (!isReadOrWriteOfOne(verb))
    return no('can only get, create, update, patch, or delete a node lease');
  if (namespace !== LEASE_NAMESPACE)
    return no(`can only access leases in the ${quote(LEASE_NAMESPACE)} system namespace`);
  return verb === 'create' || name === node
    ? ALLOW
    : no('can only access node lease with the same name as the requesting node');
}

function csiNode(node: string, { verb, subresource, name }: Attributes): Decision {
  if (!isReadOrWriteOfOne(verb))
    return no('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return no('cannot authorize CSINode subresources');
  return verb === 'create' || name === node
    ? ALLOW
    : no('can only access CSINode with the same name as the requesting node');
}

/**
 * Decides about the Node by its name, not by the graph: a kubelet may look for its Node before it
 * exists.
 */
function itself(node: string, { verb, subresource, name }: Attributes): Decision {
  switch (`${verb} ${subresource}`) {
    case 'create ':
    case 'update ':
    case 'patch ':
    case 'update status':
    case 'patch status':
      return ALLOW;
    case 'get ':
    case 'list ':
    case 'watch ':
      if (name === node) return ALLOW;
      return no(
        name === ''
          ? `node '${node}' cannot read all nodes, only its own Node object`
          : `node '${node}' cannot read '${name}', only its own Node object`,
      );
    default:
      return NO_OPINION;
  }
}

/**
 * Reports whether the field selector requires the value. An invalid selector counts as not: the
 * endpoint reports its error.
 */
function selects({ fieldSelector = '' }: Attributes, field: string, value: string): boolean {
  if (fieldSelector === '') return false;
  try {
    return fields
      .parseSelector(fieldSelector)
      .requirements()
      .some((term) => term.field === field && term.operator === '=' && term.value === value);
  } catch {
    return false;
  }
}
