// `npm run coverage:api`: writes docs/api-coverage.md, the table of the served API: each group and
// version, kind, verb and encoding, the golden files of upstream that it reads and writes, and the
// differences between its OpenAPI document and the published one. Rows come from the server itself;
// the last two columns need ../shared, and are marked if it is missing.

import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { decodeObject, encodeObject, parseYaml } from '#api/machinery/codec/index.ts';
import { formatYaml } from '#api/machinery/codec/format-yaml.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  openEnvelope,
} from '#api/machinery/codec/protobuf/index.ts';
import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { readGolden } from '#api/testing/golden.ts';
import { defaultTable } from '#apiserver/tables/table.ts';
import { type Kind, verbsOf } from '#apiserver/catalog/kind.ts';
import {
  openApiDifference,
  type OpenApiDifference,
  type OpenApiDocument,
} from '#apiserver/testing/openapi-difference.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { deepEqual } from '#machinery/deep.ts';
import { SeededRandom } from '#machinery/random.ts';
import { differences } from './golden.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
export const PAGE = at('../docs/api-coverage.md');
const GOLDEN = at('../../shared/golden');
const PUBLISHED = at('../../shared/reference/openapi-v2.json');
/** The text of the last two columns without ../shared. */
const UNKNOWN = '?';
const FILLS = 5;

const INTRODUCTION = `# What the API serves

Written by \`npm run coverage:api\`, which asks the server; a test says whether it is current. Beta \
versions are served where
\`--runtime-config\` asks for them.

- **Verbs**, and those of each subresource. *all* is create, get, list, watch, update, patch, \
delete and deletecollection. Every kind that
  has \`patch\` takes JSON patches, merge patches, strategic merge patches and server-side apply.
- **Encodings**: in which of JSON, YAML and protobuf filled objects of the kind come back as they \
were. Lists, watch frames, \`Table\` and
  \`PartialObjectMetadata\` are written once for all kinds, in JSON and protobuf.
- **Columns** of \`kubectl get\`, and those that \`-o wide\` adds.
- **Golden**: whether upstream's own encoded object of the kind is read from JSON and protobuf as \
the same object and written back byte for
  byte (–: none is given).
- **OpenAPI**: in how many places the document says something else of the version than the published one does.
`;

export interface Coverage {
  readonly page: string;
  /** The page without the columns that need ../shared. */
  readonly withoutReference: string;
}

export async function apiCoverage(): Promise<Coverage> {
  const server = await startTestServer({ runtimeConfig: { 'api/beta': 'true' } });
  try {
    const { json } = await send(server.server, { path: '/openapi/v2' });
    const difference = existsSync(PUBLISHED)
      ? openApiDifference(
          json as unknown as OpenApiDocument,
          JSON.parse(readFileSync(PUBLISHED, 'utf8')) as OpenApiDocument,
        )
      : undefined;
    const rows = sorted(server.server.catalog.snapshot().publishedKinds()).map((served) =>
      rowOf(served, difference),
    );
    const page = render(rows, difference);
    return { page, withoutReference: withoutReference(page) };
  } finally {
    await server.stop();
  }
}

/** Returns the page without the columns that need ../shared. */
export function withoutReference(page: string): string {
  return page
    .split('\n')
    .filter((line) => !line.startsWith('Kinds:') && !line.startsWith('Not served:'))
    .map((line) => (line.startsWith('|') ? line.split('|').slice(0, -3).join('|') : line))
    .join('\n');
}

interface Row {
  readonly groupVersion: string;
  readonly cells: readonly string[];
  readonly golden: string;
}

function sorted(resources: readonly Kind[]): readonly Kind[] {
  const key = ({ type }: Kind): string =>
    `${type.group} ${type.version} ${type.kind} ${type.resource}`;
  return resources.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

const scheme = newDefaultScheme();

function rowOf(served: Kind, difference: OpenApiDifference | undefined): Row {
  const { group, version, kind, resource } = served.type;
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const message = scheme.schemas.lookup({ group, version, kind })?.message;
  const golden =
    message === undefined
      ? '–'
      : goldenOf(message, `${group === '' ? 'core' : group}.${version}.${kind}`);
  const lines = difference?.lines.filter((line) => line.startsWith(`${groupVersion}: `));
  return {
    groupVersion,
    golden,
    cells: [
      groupVersion,
      kind,
      resource,
      shownVerbs(verbsOf(served)),
      (served.subresources ?? [])
        .map((subresource) => `${subresource.name} (${verbsOf(subresource).join(' ')})`)
        .join(', '),
      message === undefined ? '–' : encodingsOf(message).join(' '),
      columnsOf(served),
      golden,
      lines === undefined ? UNKNOWN : String(lines.length),
    ],
  };
}

const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
function shownVerbs(verbs: readonly string[]): string {
  return deepEqual(verbs.toSorted(), ALL) ? 'all' : verbs.join(' ');
}

function columnsOf({ table }: Kind): string {
  const { columns } = table ?? defaultTable;
  const wide = columns.filter(({ priority = 0 }) => priority > 0).length;
  return wide === 0 ? String(columns.length) : `${columns.length - wide} + ${wide}`;
}

/** Returns the encodings in which filled objects are unchanged after a round trip. */
function encodingsOf(message: MessageDescriptor): readonly string[] {
  const random = new SeededRandom(message.key);
  const objects = Array.from(
    { length: FILLS },
    () => decodeObject<object>(message, fuzzObject(message, random)).object,
  );
  const decode = (value: unknown): object => decodeObject<object>(message, value).object;
  const ways: Readonly<Record<string, (object: object) => object>> = {
    JSON: (object) => decode(JSON.parse(Buffer.from(encodeObject(object)).toString('utf8'))),
    YAML: (object) => decode(parseYaml(formatYaml(object))),
    protobuf: (object) =>
      decodeProtobuf<object>(message, openEnvelope(encodeProtobuf(message, object))),
  };
  return Object.entries(ways).flatMap(([name, way]) =>
    objects.every((object) => deepEqual(way(object), object)) ? [name] : [],
  );
}

function goldenOf(message: MessageDescriptor, name: string): string {
  if (!existsSync(GOLDEN)) return UNKNOWN;
  const file = readGolden(GOLDEN).find((each) => each.name === name);
  if (file === undefined || file.message?.key !== message.key) return '–';
  return differences(file).length === 0 ? 'alike' : 'differs';
}

function render(rows: readonly Row[], difference: OpenApiDifference | undefined): string {
  const header = [
    'Group and version',
    'Kind',
    'Resource',
    'Verbs',
    'Subresources',
    'Encodings',
    'Columns',
    'Golden',
    'OpenAPI',
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const alike = rows.filter(({ golden }) => golden === 'alike').length;
  const given = rows.filter(({ golden }) => golden !== '–').length;
  return [
    INTRODUCTION,
    line(header),
    line(header.map(() => '---')),
    ...rows.map(({ cells }) => line(cells)),
    '',
    `Kinds: ${rows.length}. Golden files alike: ${alike} of ${given}. Differences of the ` +
      `OpenAPI document: ${difference?.lines.length ?? UNKNOWN}.`,
    '',
    `Not served: ${(difference?.missingVersions ?? [UNKNOWN]).map((version) => `\`${version}\``).join(', ')}.`,
    '',
  ].join('\n');
}

if (
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
) {
  if (!existsSync(PUBLISHED))
    throw new Error(`the published document is not at hand: ${PUBLISHED}`);
  writeFileSync(PAGE, (await apiCoverage()).page);
}
