// Every served operation, in a form from which both versions of OpenAPI are rendered.

import type {
  ObjectCodec,
  OpenApiType,
  QueryCodec,
  QueryParameter,
} from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import { codecOf, subresourceCodec } from '../catalog/codec.ts';
import type { Kind, Subresource } from '../catalog/kind.ts';
import type { Rest } from '../registry/rest.ts';
import { commonType, lowerGroup, upperFirst, upperGroup } from './names.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: QueryParameter['type'];
  readonly description: string;
}

export interface Operation {
  readonly path: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head' | 'options';
  /** The x-kubernetes-action. Discovery operations have neither an action nor a kind. */
  readonly action?: string;
  readonly operationId: string;
  readonly description: string;
  readonly tag: string;
  readonly gvk?: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  /** The type of the request's body; 'patch': a patch document of any type. */
  readonly body?: OpenApiType | 'patch';
  /** The type of the response. Absent: text, or any response of a proxied server. */
  readonly answer?: OpenApiType;
  readonly codes: readonly number[];
  /** The accepted media types. */
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

const ANYTHING = ['*/*'];
/** The media types of kinds without protobuf. */
const TEXTS = ['application/json', 'application/yaml'];
export const OBJECTS = [...TEXTS, 'application/vnd.kubernetes.protobuf'];
const LISTS = [
  ...OBJECTS,
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  STRATEGIC_MERGE_PATCH,
  'application/apply-patch+yaml',
];

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});
const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  type: 'string',
  description,
});

const PRETTY = query('pretty', 'string', 'If true, the output is indented.');
const DRY_RUN = query(
  'dryRun',
  'string',
  'All: the request is processed completely, but nothing is stored.',
);
const FIELD_MANAGER = query(
  'fieldManager',
  'string',
  'The name of the manager that makes the change, at most 128 printable characters.',
);
const FIELD_VALIDATION = query(
  'fieldValidation',
  'string',
  'The handling of unknown and duplicate fields: Ignore, Warn or Strict.',
);
const FORCE = query(
  'force',
  'boolean',
  'For an apply patch: take over fields that other managers own.',
);
// Upstream's test of the document looks for “list of returned”, and below for “Watch for changes to
// the described resources”.
const SELECTION = [
  query('labelSelector', 'string', 'Restricts the list of returned objects by their labels.'),
  query('fieldSelector', 'string', 'Restricts the list of returned objects by their fields.'),
];
const RESOURCE_VERSION = query(
  'resourceVersion',
  'string',
  'The minimum revision of a read, or the revision from which a watch begins.',
);
const LIST = [
  PRETTY,
  ...SELECTION,
  query(
    'limit',
    'integer',
    'The maximum number of items. The response has a continue token for the next page.',
  ),
  query('continue', 'string', 'The continue token of the previous page.'),
  RESOURCE_VERSION,
  query('resourceVersionMatch', 'string', 'The meaning of resourceVersion: Exact or NotOlderThan.'),
  query('timeoutSeconds', 'integer', 'The timeout of the request in seconds.'),
  query('sendInitialEvents', 'boolean', 'Begins a watch with the existing objects.'),
];
const WATCH = [
  query(
    'watch',
    'boolean',
    'Watch for changes to the described resources instead of listing them.',
  ),
  query('allowWatchBookmarks', 'boolean', 'Allows bookmark events in a watch.'),
];
const DELETE = [
  PRETTY,
  DRY_RUN,
  query(
    'gracePeriodSeconds',
    'integer',
    'The seconds until the object is deleted by force; 0: at once.',
  ),
  query('orphanDependents', 'boolean', 'The older form of propagationPolicy.'),
  query(
    'propagationPolicy',
    'string',
    'The handling of dependents: Orphan, Background or Foreground.',
  ),
];
const WRITE = [PRETTY, DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];
/** Descriptions of options of connections that have no description in a schema. */
const OPTIONS: Readonly<Record<string, string>> = {
  command: 'The command to run, without a shell: program and arguments, one parameter each.',
  container: 'The container. Default: the only container, or the one in an annotation.',
  follow: 'Streams later output, too.',
  insecureSkipTLSVerifyBackend: 'Skips the verification of the kubelet’s certificate.',
  limitBytes: 'The maximum number of bytes.',
  path: 'The path behind the proxy.',
  ports: 'The ports to forward to.',
  previous: 'Returns the log of the previous container.',
  sinceSeconds: 'Restricts the log to the last seconds.',
  stderr: 'Connects standard error.',
  stdin: 'Connects standard input.',
  stdout: 'Connects standard output.',
  stream: 'The stream of the log: All, Stdout or Stderr.',
  tailLines: 'The number of lines from the end of the log.',
  timestamps: 'Begins each line with its time.',
  tty: 'Allocates a terminal.',
};
function optionsOf(codec: QueryCodec | undefined): readonly Parameter[] {
  return (codec?.parameters ?? []).map(({ name, type, description }) =>
    query(name, type, description ?? OPTIONS[name] ?? `The option ${name}.`),
  );
}

export function operationsOf(served: Kind, scheme: Scheme): Operation[] {
  const context = new ResourceContext(served, scheme);
  return [
    ...context.resource(served.rest),
    ...(served.subresources ?? []).flatMap((subresource) => context.subresource(subresource)),
  ];
}

class ResourceContext {
  readonly #served: Kind;
  readonly #type: ResourceType;
  readonly #codec: ObjectCodec;
  readonly #scheme: Scheme;
  readonly #root: string;
  readonly #idGroup: string;

  constructor(served: Kind, scheme: Scheme) {
    const { type } = served;
    this.#served = served;
    this.#type = type;
    this.#codec = codecOf(scheme, served);
    this.#scheme = scheme;
    this.#root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
    this.#idGroup = `${upperGroup(type.group)}${upperFirst(type.version)}`;
  }

  resource(rest: Rest): Operation[] {
    const type = this.#type;
    const { kind } = type;
    const { openApi: object, openApiList: list } = this.#codec;
    const isCustom = this.#served.isCustom === true;
    const status = commonType(this.#scheme, 'Status');
    const collection = type.namespaced
      ? `${this.#root}/namespaces/{namespace}/${type.resource}`
      : `${this.#root}/${type.resource}`;
    const item = `${collection}/{name}`;
    const operations: Operation[] = [];
    if (rest.list !== undefined) {
      const responses = { answer: list, produces: this.#lists() };
      operations.push(
        this.#make(
          collection,
          'get',
          'list',
          `list${this.#idGroup}${this.#scope()}${kind}`,
          `List objects of kind ${kind}.`,
          [...LIST, ...WATCH],
          responses,
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
            [...LIST, ...WATCH],
            responses,
          ),
        );
      }
      // These paths are older than custom kinds.
      if (rest.watch !== undefined && this.#served.isCustom !== true)
        operations.push(...this.#oldWatches());
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
          { body: object, answer: object, codes: [200, 201, 202] },
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
          isCustom ? [...LIST, ...WATCH] : [...DELETE, ...LIST.slice(1)],
          {
            // Upstream describes the parameters of a list and no body for custom kinds, although it
            // accepts those of a deletion.
            ...(!isCustom && {
              body: commonType(this.#scheme, 'DeleteOptions'),
            }),
            answer: status,
          },
        ),
      );
    }
    operations.push(...this.#itemOperations(item, type, this.#codec, '', rest));
    if (rest.delete !== undefined) {
      operations.push(
        this.#make(
          item,
          'delete',
          'delete',
          `delete${this.#idGroup}${this.#scope()}${kind}`,
          `Delete an object of kind ${kind}.`,
          DELETE,
          {
            body: commonType(this.#scheme, 'DeleteOptions'),
            answer: rest.returnsDeletedObject === true ? object : status,
            codes: [200, 202],
          },
        ),
      );
    }
    return operations;
  }

  subresource(subresource: Subresource): Operation[] {
    const type = this.#type;
    const base = type.namespaced
      ? `${this.#root}/namespaces/{namespace}/${type.resource}`
      : `${this.#root}/${type.resource}`;
    const path = `${base}/{name}/${subresource.name}`;
    const suffix = upperFirst(subresource.name);
    const codec = subresourceCodec(this.#scheme, this.#served, subresource);
    // Upstream uses the kind of the resource for all subresources of a custom one.
    const gvk = this.#served.isCustom === true ? this.#codec.kind : subresource.kind;
    const operations = this.#itemOperations(path, gvk, codec, suffix, subresource.rest);
    if (subresource.rest.create !== undefined) {
      const { openApi: object } = codec;
      operations.push(
        this.#make(
          path,
          'post',
          'post',
          `create${this.#idGroup}${this.#scope()}${type.kind}${suffix}`,
          `Create ${subresource.name} of a ${type.kind}.`,
          WRITE,
          { body: object, answer: object, codes: [200, 201, 202] },
          subresource.kind,
        ),
      );
    }
    if (subresource.rest.connect !== undefined)
      operations.push(...this.#connections(path, subresource, codec));
    return operations;
  }

  /** Returns the operations of the legacy watch paths, from before there was a parameter. */
  #oldWatches(): Operation[] {
    const type = this.#type;
    const { kind } = type;
    const responses = { answer: commonType(this.#scheme, 'WatchEvent'), produces: this.#lists() };
    const make = (path: string, action: string, id: string, what: string): Operation =>
      this.#make(
        `${this.#root}/watch/${path}`,
        'get',
        action,
        `watch${this.#idGroup}${id}`,
        `Watch ${what}. Deprecated: use the parameter watch of the list instead.`,
        [...LIST, ...WATCH],
        responses,
      );
    const collection = type.namespaced ? `namespaces/{namespace}/${type.resource}` : type.resource;
    return [
      make(collection, 'watchlist', `${this.#scope()}${kind}List`, `objects of kind ${kind}`),
      make(
        `${collection}/{name}`,
        'watch',
        `${this.#scope()}${kind}`,
        `one object of kind ${kind}`,
      ),
      ...(type.namespaced
        ? [
            make(
              type.resource,
              'watchlist',
              `${kind}ListForAllNamespaces`,
              `objects of kind ${kind} in all namespaces`,
            ),
          ]
        : []),
    ];
  }

  #connections(path: string, subresource: Subresource, codec: ObjectCodec): Operation[] {
    const type = this.#type;
    const { kind, name, connectMethods = ['GET', 'POST'] } = subresource;
    const suffix = upperFirst(name);
    const what = `${name} of a ${type.kind}`;
    if (kind.kind === type.kind) {
      // The operation reads like one of an object, but returns text.
      const options = optionsOf(
        this.#scheme.codecOf({ ...kind, kind: `${type.kind}${suffix}Options` })?.query,
      );
      const id = `read${this.#idGroup}${this.#scope()}${type.kind}${suffix}`;
      const responses = { produces: ['text/plain', ...OBJECTS] };
      return [
        this.#make(path, 'get', 'get', id, `Read ${what}.`, [PRETTY, ...options], responses, kind),
      ];
    }
    const options = optionsOf(codec.query);
    // A proxy accepts any method, and passes on the path after its own.
    const isProxy = connectMethods.includes('PUT');
    return connectMethods.flatMap((methodName) => {
      const method = methodName.toLowerCase() as Operation['method'];
      const id = `connect${this.#idGroup}${upperFirst(method)}${this.#scope()}${type.kind}${suffix}`;
      const make = (at: string, operationId: string): Operation =>
        this.#make(
          at,
          method,
          'connect',
          operationId,
          `Connect to ${what}.`,
          options,
          { produces: ANYTHING },
          kind,
        );
      return [make(path, id), ...(isProxy ? [make(`${path}/{path}`, `${id}WithPath`)] : [])];
    });
  }

  #itemOperations(
    path: string,
    gvk: GroupVersionKind,
    codec: ObjectCodec,
    suffix: string,
    rest: Rest,
  ): Operation[] {
    const { openApi: object, patchSchema } = codec;
    const { kind } = this.#type;
    const what =
      suffix === '' ? `an object of kind ${kind}` : `${suffix.toLowerCase()} of a ${kind}`;
    const id = `${this.#idGroup}${this.#scope()}${kind}${suffix}`;
    const operations: Operation[] = [];
    if (rest.get !== undefined)
      operations.push(
        this.#make(
          path,
          'get',
          'get',
          `read${id}`,
          `Read ${what}.`,
          this.#served.isCustom === true ? [PRETTY, RESOURCE_VERSION] : [PRETTY],
          { answer: object },
          gvk,
        ),
      );
    if (rest.update !== undefined) {
      operations.push(
        this.#make(
          path,
          'put',
          'put',
          `replace${id}`,
          `Replace ${what}.`,
          WRITE,
          { body: object, answer: object, codes: [200, 201] },
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
            {
              body: 'patch',
              answer: object,
              // Upstream does not document that an apply patch may create an object of a custom
              // kind.
              codes: this.#served.isCustom === true ? [200] : [200, 201],
              consumes:
                patchSchema === undefined
                  ? PATCHES.filter((type) => type !== STRATEGIC_MERGE_PATCH)
                  : PATCHES,
            },
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
      readonly answer?: OpenApiType;
      readonly codes?: readonly number[];
      readonly consumes?: readonly string[];
      readonly produces?: readonly string[];
    },
    gvk: GroupVersionKind = this.#type,
  ): Operation {
    const { group, version, kind } = gvk;
    const inProtobuf = this.#codec.protobuf !== undefined;
    return {
      path,
      method,
      action,
      operationId,
      description,
      tag: `${lowerGroup(this.#type.group)}_${this.#type.version}`,
      gvk: { group, version, kind },
      parameters: [
        ...(path.includes('{namespace}') ? [inPath('namespace', 'The namespace.')] : []),
        ...(path.includes('{name}') ? [inPath('name', `The name of the ${this.#type.kind}.`)] : []),
        ...(path.includes('{path}') ? [inPath('path', 'The path behind the proxy.')] : []),
        ...parameters,
      ],
      ...(rest.body !== undefined && { body: rest.body }),
      ...(rest.answer !== undefined && { answer: rest.answer }),
      codes: rest.codes ?? [200],
      consumes: rest.consumes ?? (inProtobuf ? ANYTHING : TEXTS),
      produces: rest.produces ?? (inProtobuf ? OBJECTS : TEXTS),
    };
  }

  #lists(): readonly string[] {
    return this.#codec.protobuf === undefined ? TEXTS : LISTS;
  }

  #scope(): string {
    return this.#type.namespaced ? 'Namespaced' : '';
  }
}
