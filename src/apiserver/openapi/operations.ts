// Every operation that is served, in a form from which both versions of OpenAPI are written.

import type { GroupVersionKind, MessageDescriptor, ResourceType } from '../../api/descriptor.ts';
import type { Scheme } from '../../api/scheme.ts';
import type { Rest, ServedResource, ServedSubresource } from '../registry/rest.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

export interface Operation {
  readonly path: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** x-kubernetes-action. */
  readonly action: string;
  readonly operationId: string;
  readonly description: string;
  readonly tag: string;
  readonly gvk: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  /** What is sent; 'patch': a patch document of any type. */
  readonly body?: MessageDescriptor | 'patch';
  /** What is answered; absent: text, or whatever a proxied server says. */
  readonly answer?: MessageDescriptor;
  readonly codes: readonly number[];
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});
const inPath = (name: string, description: string): Parameter => ({ name, in: 'path', type: 'string', description });

const PRETTY = query('pretty', 'string', 'Indent the output for people if it is true.');
const DRY_RUN = query('dryRun', 'string', 'All: go through every stage, but store nothing.');
const FIELD_MANAGER = query(
  'fieldManager',
  'string',
  'Name of the actor that makes the change, 128 printable characters at most.',
);
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'What to do about unknown and duplicate fields: Ignore, Warn or Strict.',
);
const FORCE = query('force', 'boolean', 'With an apply patch: take fields over that others own.');
const SELECTION = [
  query('labelSelector', 'string', 'Only objects whose labels match.'),
  query('fieldSelector', 'string', 'Only objects whose fields match.'),
];
const LIST = [
  ...SELECTION,
  query('limit', 'integer', 'At most so many items; the answer says how to go on.'),
  query('continue', 'string', 'The token with which the page before told how to go on.'),
  query('resourceVersion', 'string', 'How new the answer must be, or from where a watch begins.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('timeoutSeconds', 'integer', 'End the call after so many seconds.'),
  query('sendInitialEvents', 'boolean', 'Begin a watch with the objects that there are.'),
];
const WATCH = [
  query('watch', 'boolean', 'Stream changes instead of answering a list.'),
  query('allowWatchBookmarks', 'boolean', 'Send bookmarks while nothing happens.'),
];
const DELETE = [
  DRY_RUN,
  query('gracePeriodSeconds', 'integer', 'Seconds until the object is deleted by force; 0: at once.'),
  query('orphanDependents', 'boolean', 'The older form of propagationPolicy.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: Orphan, Background or Foreground.'),
];
const WRITE = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function operationsOf(served: ServedResource, scheme: Scheme): Operation[] {
  const { type } = served;
  const context = new ResourceContext(type, scheme);
  return [
    ...context.resource(served.rest),
    ...(served.subresources ?? []).flatMap((subresource) => context.subresource(subresource)),
  ];
}

class ResourceContext {
  readonly #type: ResourceType;
  readonly #scheme: Scheme;
  readonly #root: string;
  readonly #idGroup: string;

  constructor(type: ResourceType, scheme: Scheme) {
    this.#type = type;
    this.#scheme = scheme;
    this.#root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
    this.#idGroup = `${upperFirst((type.group === '' ? 'core' : type.group).split('.')[0] as string)}${upperFirst(type.version)}`;
  }

  resource(rest: Rest): Operation[] {
    const type = this.#type;
    const { kind } = type;
    const message = this.#messageOf(type);
    const list = this.#messageOf({ ...type, kind: `${kind}List` });
    const status = this.#messageOf({ group: '', version: 'v1', kind: 'Status' });
    const collection = type.namespaced
      ? `${this.#root}/namespaces/{namespace}/${type.resource}`
      : `${this.#root}/${type.resource}`;
    const item = `${collection}/{name}`;
    const operations: Operation[] = [];
    if (rest.list !== undefined) {
      const watch = rest.watch === undefined ? [] : WATCH;
      operations.push(
        this.#make(
          collection,
          'get',
          'list',
          `list${this.#idGroup}${this.#scope()}${kind}`,
          `List objects of kind ${kind}.`,
          [...LIST, ...watch],
          { answer: list },
        ),
      );
      if (type.namespaced) {
        operations.push(
          this.#make(
            `${this.#root}/${type.resource}`,
            'get',
            'list',
            `list${this.#idGroup}${kind}ForAllNamespaces`,
            `List objects of kind ${kind} in all namespaces.`,
            [...LIST, ...watch],
            { answer: list },
          ),
        );
      }
    }
    if (rest.create !== undefined) {
      operations.push(
        this.#make(
          collection,
          'post',
          'post',
          `create${this.#idGroup}${this.#scope()}${kind}`,
          `Create an object of kind ${kind}.`,
          WRITE,
          { body: message, answer: message, codes: [200, 201, 202] },
        ),
      );
    }
    if (rest.deleteCollection !== undefined) {
      operations.push(
        this.#make(
          collection,
          'delete',
          'deletecollection',
          `delete${this.#idGroup}Collection${this.#scope()}${kind}`,
          `Delete objects of kind ${kind}.`,
          [...DELETE, ...LIST],
          { body: this.#messageOf({ ...type, kind: 'DeleteOptions' }), answer: status },
        ),
      );
    }
    operations.push(...this.#itemOperations(item, type, '', rest));
    if (rest.delete !== undefined) {
      operations.push(
        this.#make(
          item,
          'delete',
          'delete',
          `delete${this.#idGroup}${this.#scope()}${kind}`,
          `Delete an object of kind ${kind}.`,
          DELETE,
          { body: this.#messageOf({ ...type, kind: 'DeleteOptions' }), answer: status, codes: [200, 202] },
        ),
      );
    }
    return operations;
  }

  subresource(subresource: ServedSubresource): Operation[] {
    const type = this.#type;
    const base = type.namespaced ? `${this.#root}/namespaces/{namespace}/${type.resource}` : `${this.#root}/${type.resource}`;
    const path = `${base}/{name}/${subresource.name}`;
    const suffix = upperFirst(subresource.name);
    const operations = this.#itemOperations(path, subresource.kind, suffix, subresource.rest);
    if (subresource.rest.create !== undefined) {
      const message = this.#messageOf(subresource.kind);
      operations.push(
        this.#make(
          path,
          'post',
          'post',
          `create${this.#idGroup}${this.#scope()}${type.kind}${suffix}`,
          `Create ${subresource.name} of a ${type.kind}.`,
          WRITE,
          { body: message, answer: message, codes: [200, 201, 202] },
          subresource.kind,
        ),
      );
    }
    if (subresource.rest.connect !== undefined) {
      for (const method of (subresource.connectMethods ?? ['GET', 'POST']).map(
        (name) => name.toLowerCase() as Operation['method'],
      )) {
        operations.push(
          this.#make(
            path,
            method,
            'connect',
            `connect${this.#idGroup}${upperFirst(method)}${this.#scope()}${type.kind}${suffix}`,
            `Connect to ${subresource.name} of a ${type.kind}.`,
            [],
            {},
            subresource.kind,
          ),
        );
      }
    }
    return operations;
  }

  #itemOperations(path: string, gvk: GroupVersionKind, suffix: string, rest: Rest): Operation[] {
    const message = this.#messageOf(gvk);
    const { kind } = this.#type;
    const what = suffix === '' ? `an object of kind ${kind}` : `${suffix.toLowerCase()} of a ${kind}`;
    const id = `${this.#idGroup}${this.#scope()}${kind}${suffix}`;
    const operations: Operation[] = [];
    if (rest.get !== undefined)
      operations.push(this.#make(path, 'get', 'get', `read${id}`, `Read ${what}.`, [], { answer: message }, gvk));
    if (rest.update !== undefined) {
      operations.push(
        this.#make(
          path,
          'put',
          'put',
          `replace${id}`,
          `Replace ${what}.`,
          WRITE,
          { body: message, answer: message, codes: [200, 201] },
          gvk,
        ),
      );
      if (rest.get !== undefined) {
        operations.push(
          this.#make(
            path,
            'patch',
            'patch',
            `patch${id}`,
            `Change parts of ${what}.`,
            [...WRITE, FORCE],
            { body: 'patch', answer: message, codes: [200, 201] },
            gvk,
          ),
        );
      }
    }
    return operations;
  }

  #make(
    path: string,
    method: Operation['method'],
    action: string,
    operationId: string,
    description: string,
    parameters: readonly Parameter[],
    rest: {
      readonly body?: Operation['body'];
      readonly answer?: MessageDescriptor | undefined;
      readonly codes?: readonly number[];
    },
    gvk: GroupVersionKind = this.#type,
  ): Operation {
    const { group, version, kind } = gvk;
    return {
      path,
      method,
      action,
      operationId,
      description,
      tag: `${(this.#type.group === '' ? 'core' : this.#type.group).split('.')[0]}_${this.#type.version}`,
      gvk: { group, version, kind },
      parameters: [
        ...(path.includes('{namespace}') ? [inPath('namespace', 'The namespace.')] : []),
        ...(path.includes('{name}') ? [inPath('name', `The name of the ${this.#type.kind}.`)] : []),
        PRETTY,
        ...parameters,
      ],
      ...(rest.body !== undefined && { body: rest.body }),
      ...(rest.answer !== undefined && { answer: rest.answer }),
      codes: rest.codes ?? [200],
    };
  }

  #scope(): string {
    return this.#type.namespaced ? 'Namespaced' : '';
  }

  #messageOf(gvk: GroupVersionKind): MessageDescriptor | undefined {
    return this.#scheme.lookup({ group: gvk.group, version: gvk.version, kind: gvk.kind })?.message;
  }
}
