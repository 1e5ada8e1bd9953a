// Sends the cases of the structural codec to upstream's API server, one by one, and compares the
// answers.

import {
  type Body,
  cases,
  type SchemaCase,
  wholeBody,
  wholeSchema,
} from '#api/machinery/codec/structural/testing/cases.ts';
import {
  answer,
  type Answers,
  type CaseAnswer,
  contentOf,
  GROUP,
  managedFieldsOf,
  messagesOf,
  type ObjectAnswer,
} from '#api/machinery/codec/structural/testing/answers.ts';
import {
  published,
  type PublishedAnswer,
  publishedCases,
  withoutDescriptions,
} from '#api/machinery/codec/structural/testing/openapi.ts';
import { ruleCases } from '#api/machinery/codec/structural/testing/rule-cases.ts';
import { systemClock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import * as wait from '#machinery/wait.ts';
import type { Answer } from './compare.ts';
import type { Remote } from './remote.ts';
import type { ReportLines } from './report.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The recorded answers of the reference server. */
export interface Recorded {
  readonly answers: Answers;
  /** Published definitions by the name of the case. */
  readonly published: Readonly<Record<string, PublishedAnswer>>;
}

const RULE_GROUP = 'rules.example.com';

/** Asks the reference server for its answers to the cases of rules. */
export function askUpstreamForRules(reference: Remote, report: ReportLines): Promise<Answers> {
  return answersOf(reference, ruleCases, report, RULE_GROUP);
}

/** A kind at the reference server, created for one case. */
class CustomKind {
  readonly #group: string;
  readonly #reference: Remote;
  readonly #given: SchemaCase;
  readonly #kind: string;
  readonly #plural: string;

  constructor(reference: Remote, given: SchemaCase, number: number, group = GROUP) {
    this.#group = group;
    this.#reference = reference;
    this.#given = given;
    this.#kind = `Thing${number}`;
    this.#plural = `thing${number}s`;
  }

  /** Creates the kind's definition, for its schemas in OpenAPI documents. */
  async publish(): Promise<void> {
    await this.delete();
    await this.#define('POST', DEFINITIONS, wholeSchema(this.#given));
  }

  /**
   * Returns the schemas of the kind and its list in a document. Undefined: the document does not
   * have them yet.
   */
  publishedIn(schemas: Readonly<Record<string, unknown>>): unknown[] | undefined {
    const [kind, list] = ['', 'List'].map(
      (suffix) => schemas[`com.example.structural.v1.${this.#kind}${suffix}`],
    );
    if (kind === undefined || list === undefined) return undefined;
    const text = JSON.stringify([kind, list])
      .replaceAll(this.#plural, 'things')
      .replaceAll(this.#kind, 'Thing');
    return (JSON.parse(text) as unknown[]).map(withoutDescriptions);
  }

  get #name(): string {
    return `${this.#plural}.${this.#group}`;
  }

  async answer(): Promise<CaseAnswer> {
    const loose = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const isUpdated = this.#given.updates !== undefined || this.#given.statusUpdates !== undefined;
    await this.delete();
    const created = await this.#define(
      'POST',
      DEFINITIONS,
      isUpdated ? loose : wholeSchema(this.#given),
    );
    if (created.code !== 201) return { schema: causesOf(created) };
    await this.#until(
      async () => (await this.#send('GET', this.#path(''), undefined)).code === 200,
    );
    try {
      return isUpdated ? await this.#updates() : await this.#objects();
    } finally {
      await this.delete();
    }
  }

  async #objects(): Promise<CaseAnswer> {
    const objects: Record<string, ObjectAnswer> = {};
    for (const [name, given] of Object.entries(this.#given.objects ?? {})) {
      const created = await this.#create(wholeBody(this.#given, given), 'probe', '?dryRun=All');
      const fields = created.code === 201 ? { fields: managedFieldsOf(created.body as Body) } : {};
      objects[name] = { ...this.#answerOf(created), ...fields };
    }
    return Object.keys(objects).length === 0 ? {} : { objects };
  }

  async #updates(): Promise<CaseAnswer> {
    const updates = Object.entries(this.#given.updates ?? {});
    const statusUpdates = Object.entries(this.#given.statusUpdates ?? {});
    for (const [index, [, [old]]] of updates.entries()) await this.#createOld(old, `old-${index}`);
    for (const [index, [, [old]]] of statusUpdates.entries())
      await this.#createOld(old, `status-${index}`);
    const definition = (await this.#send('GET', `${DEFINITIONS}/${this.#name}`, undefined))
      .body as { metadata: Body };
    const changed = await this.#define(
      'PUT',
      `${DEFINITIONS}/${this.#name}`,
      wholeSchema(this.#given),
      definition.metadata,
    );
    if (changed.code !== 200) return { schema: causesOf(changed) };
    // The server uses the new schema once it drops a field that no case has.
    await this.#until(async () => {
      const { warnings } = await this.#create({ unknownToAllCases: 1 }, 'probe', '?dryRun=All');
      return warnings.some((warning) => warning.includes('unknownToAllCases'));
    });
    return {
      ...(updates.length > 0 && { updates: await this.#update(updates, 'old', '') }),
      ...(statusUpdates.length > 0 && {
        statusUpdates: await this.#update(statusUpdates, 'status', '/status'),
      }),
    };
  }

  async #createOld(given: unknown, name: string): Promise<void> {
    const body = wholeBody(this.#given, given);
    const created = await this.#create(body, name, '');
    if (this.#given.statusEnabled !== true || !Object.hasOwn(body, 'status')) return;
    const whole = { ...(created.body as Body), status: body['status'] };
    await this.#send('PUT', this.#path(`/${name}/status`), whole);
  }

  async #update(
    updates: readonly (readonly [string, readonly [unknown, unknown]])[],
    prefix: string,
    subresource: string,
  ): Promise<Record<string, ObjectAnswer>> {
    const answers: Record<string, ObjectAnswer> = {};
    for (const [index, [name, [, updated]]] of updates.entries()) {
      const object = `${prefix}-${index}`;
      const old = (await this.#send('GET', this.#path(`/${object}`), undefined)).body as {
        metadata: Body;
      };
      const body = {
        ...this.#typed(wholeBody(this.#given, updated), object),
        metadata: old.metadata,
      };
      answers[name] = this.#answerOf(
        await this.#send('PUT', `${this.#path(`/${object}${subresource}`)}?dryRun=All`, body),
      );
    }
    return answers;
  }

  #path(rest: string): string {
    return `/apis/${this.#group}/v1/${this.#plural}${rest}`;
  }

  #typed(body: Body, name: string): Body {
    const metadata = { name, ...(body['metadata'] as Body | undefined) };
    return { apiVersion: `${this.#group}/v1`, kind: this.#kind, ...body, metadata };
  }

  #create(body: Body, name: string, query: string): Promise<Answer> {
    return this.#send('POST', this.#path(query), this.#typed(body, name));
  }

  #define(
    method: string,
    path: string,
    schema: object,
    metadata: Body = { name: this.#name },
  ): Promise<Answer> {
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema: schema },
      ...(this.#given.statusEnabled === true && { subresources: { status: {} } }),
    };
    const names = { kind: this.#kind, plural: this.#plural };
    const spec = { group: this.#group, scope: 'Cluster', names, versions: [version] };
    return this.#send(method, path, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata,
      spec,
    });
  }

  async delete(): Promise<void> {
    await this.#send('DELETE', `${DEFINITIONS}/${this.#name}`, undefined);
    await this.#until(
      async () => (await this.#send('GET', `${DEFINITIONS}/${this.#name}`, undefined)).code === 404,
    );
  }

  #send(method: string, path: string, body: Body | undefined): Promise<Answer> {
    const text = body === undefined ? '' : JSON.stringify(body);
    return this.#reference.send({
      method,
      path,
      type: 'application/json',
      body: text,
      changes: [],
    });
  }

  #answerOf(given: Answer): ObjectAnswer {
    if (given.code === 201 || given.code === 200) {
      const warnings = given.warnings.length > 0 ? { warnings: given.warnings.toSorted() } : {};
      return { object: contentOf(given.body as Body), ...warnings };
    }
    if (given.code === 422) return { causes: causesOf(given) };
    const message = (given.body as { message?: string }).message ?? '';
    const prefix = `${this.#kind} in version "v1" cannot be handled as a ${this.#kind}: `;
    return { error: message.startsWith(prefix) ? message.slice(prefix.length) : message };
  }

  #until(condition: () => Promise<boolean>): Promise<void> {
    return wait.pollImmediately(
      { clock: systemClock, intervalMs: 100, timeoutMs: 60_000 },
      condition,
    );
  }
}

function causesOf({ body }: Answer): string[] {
  const { details, message = '' } = body as {
    message?: string;
    details?: { causes?: { field: string; message: string }[] };
  };
  const causes = details?.causes ?? [];
  return causes.length === 0
    ? [message]
    : messagesOf(causes.map((cause) => ({ field: cause.field, body: cause.message })));
}

/** Asks the reference server for its answer to every case, and for its documents. */
export async function askUpstream(reference: Remote, report: ReportLines): Promise<Recorded> {
  const answers = await answersOf(reference, cases, report);
  const documents = await publishedBy(reference);
  for (const given of publishedCases) {
    const lines = deepEqual(documents[given.name], published(given)) ? [] : ['they differ'];
    report(`custom resources: ${given.name}: definitions`, lines);
  }
  return { answers, published: documents };
}

/**
 * Asks the reference server for its answers to the cases. A case whose schema is wrong for an
 * update is left out.
 */
export async function answersOf(
  reference: Remote,
  given: readonly SchemaCase[],
  report: ReportLines,
  group?: string,
): Promise<Answers> {
  const answers: Record<string, CaseAnswer> = {};
  for (const [index, one] of given.entries()) {
    const ours = await answer(one);
    if (ours.schema !== undefined && one.updates !== undefined && group === undefined) continue;
    const theirs = await new CustomKind(reference, one, index, group).answer();
    answers[one.name] = theirs;
    report(`custom resources: ${one.name}`, differencesOf(ours, theirs));
  }
  return answers;
}

function differencesOf(ours: CaseAnswer, theirs: CaseAnswer): string[] {
  if (!deepEqual(ours.schema, theirs.schema)) {
    return [`schema: ${JSON.stringify(ours.schema)}, reference ${JSON.stringify(theirs.schema)}`];
  }
  return (['objects', 'updates', 'statusUpdates'] as const).flatMap((part) => {
    const [own, other] = [ours[part] ?? {}, theirs[part] ?? {}];
    const names = Object.keys(own).filter((name) => !deepEqual(own[name], other[name]));
    return names.map(
      (name) => `${name}: ${JSON.stringify(own[name])}, reference ${JSON.stringify(other[name])}`,
    );
  });
}

async function publishedBy(reference: Remote): Promise<Record<string, PublishedAnswer>> {
  const kinds = publishedCases.map(
    (given, index) => [given.name, new CustomKind(reference, given, index)] as const,
  );
  for (const [, kind] of kinds) await kind.publish();
  const found: Record<string, PublishedAnswer> = {};
  await wait.pollImmediately(
    { clock: systemClock, intervalMs: 1000, timeoutMs: 120_000 },
    async () => {
      const [v2, v3] = [
        await schemasOf(reference, '/openapi/v2'),
        await schemasOf(reference, `/openapi/v3/apis/${GROUP}/v1`),
      ];
      for (const [name, kind] of kinds) {
        const [two, three] = [kind.publishedIn(v2), kind.publishedIn(v3)];
        if (two !== undefined && three !== undefined) found[name] = { v2: two, v3: three };
      }
      return Object.keys(found).length === kinds.length;
    },
  );
  for (const [, kind] of kinds) await kind.delete();
  return Object.fromEntries(kinds.map(([name]) => [name, found[name]!]));
}

async function schemasOf(
  reference: Remote,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await reference.send({
    method: 'GET',
    path,
    type: 'application/json',
    body: '',
    changes: [],
  });
  const document = body as {
    definitions?: Record<string, unknown>;
    components?: { schemas?: Record<string, unknown> };
  };
  return document.definitions ?? document.components?.schemas ?? {};
}
