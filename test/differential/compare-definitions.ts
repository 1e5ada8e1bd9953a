// Sends the definitions of definition-cases.ts to two servers, and reports differences between the
// answers: status, reason, message, causes, warnings, and the object. No object remains: creations
// and updates are dry runs, and the definitions that they update are removed.

import { systemClock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import * as wait from '#machinery/wait.ts';
import type { Answer } from './compare.ts';
import { type DefinitionCase, definitionCases } from './definition-cases.ts';
import type { Shot } from './shots.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const PREFIX = '/registry/apiextensions.k8s.io/customresourcedefinitions/';

/** A server, and a way to write to its storage without its API. */
export interface Server {
  send(shot: Shot): Promise<Answer>;
  /**
   * Writes an object (`json`), or deletes it. Absent: cases that need a stored definition are left
   * out.
   */
  readonly store?: ((key: string, json: string | undefined) => Promise<void>) | undefined;
}

type Json = Readonly<Record<string, unknown>>;

interface Body {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly managedFields?: unknown;
    readonly uid?: string;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null;
  };
}

/**
 * Compares the answers to all cases, or to those whose name contains `only`. Returns the number of
 * compared cases.
 */
export async function compareDefinitions(
  ours: Server,
  reference: Server,
  report: (name: string, lines: readonly string[]) => void,
  only = '',
  record?: (name: string, outcome: Outcome) => void,
): Promise<number> {
  let compared = 0;
  for (const given of definitionCases.filter(({ name }) => name.includes(only))) {
    if (given.stored !== undefined && (ours.store === undefined || reference.store === undefined))
      continue;
    const [own, other] = await Promise.all([answerOf(ours, given), answerOf(reference, given)]);
    compared++;
    record?.(given.name, outcomeOf(other));
    const lines = differencesOf(own, other);
    if (lines.length > 0) report(given.name, lines);
  }
  return compared;
}

/** The recorded parts of an answer. */
export interface Outcome {
  readonly code: number;
  readonly warnings?: readonly string[];
  readonly causes?: readonly string[];
  readonly message?: string;
}

/**
 * Returns the recorded parts of an answer: the causes of a refusal, sorted; its message, if it has
 * none.
 */
export function outcomeOf({ code, body, warnings }: Answer): Outcome {
  const causes = causesOf(body as Status).toSorted();
  return {
    code,
    ...(warnings.length > 0 && { warnings: warnings.toSorted() }),
    ...(causes.length > 0 && { causes }),
    ...(causes.length === 0 && code >= 300 && { message: messageOf(body as Status) }),
  };
}

/** Sends a case to our server, without the waits that other servers need. */
export function sendCase(server: Server, given: DefinitionCase): Promise<Answer> {
  return answerOf(server, given);
}

/** Returns the answer. An error that keeps the case from running counts as an answer. */
async function answerOf(server: Server, given: DefinitionCase): Promise<Answer> {
  try {
    return await new Case(server, given).answer();
  } catch (error) {
    return { code: 0, body: { message: String(error) }, warnings: [] };
  }
}

/** Runs one case on one server. */
class Case {
  readonly #server: Server;
  readonly #given: DefinitionCase;

  constructor(server: Server, given: DefinitionCase) {
    this.#server = server;
    this.#given = given;
  }

  async answer(): Promise<Answer> {
    const { old, stored, body } = this.#given;
    if (old === undefined && stored === undefined)
      return this.#send('POST', `${DEFINITIONS}?dryRun=All`, body);
    try {
      await this.#remove();
      if (old !== undefined) await this.#create(old);
      else await this.#store(stored as Json);
      return await this.#update();
    } finally {
      await this.#remove();
    }
  }

  get #path(): string {
    const { old, stored } = this.#given;
    return `${DEFINITIONS}/${nameOf((old ?? stored) as Json)}`;
  }

  async #create(old: Json): Promise<void> {
    const { code, body } = await this.#send('POST', DEFINITIONS, old);
    if (code !== 201)
      throw new Error(
        `${this.#given.name}: the old definition was refused: ${JSON.stringify(body)}`,
      );
    await this.#until((answer) => isEstablished(answer));
  }

  async #store(stored: Json): Promise<void> {
    const metadata = {
      ...(stored['metadata'] as Json),
      uid: '11111111-2222-3333-4444-555555555555',
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
    };
    const spec = { conversion: { strategy: 'None' }, ...(stored['spec'] as Json) };
    await this.#server.store?.(
      PREFIX + nameOf(stored),
      JSON.stringify({ ...stored, metadata, spec }),
    );
    await this.#until(({ code }) => code === 200);
  }

  async #update(): Promise<Answer> {
    const path = this.#path + (this.#given.status === true ? '/status' : '');
    // The server itself may write the status at any time.
    for (;;) {
      const current = (await this.#send('GET', this.#path, undefined)).body as Body;
      const metadata = {
        ...(this.#given.body['metadata'] as Json),
        resourceVersion: current.metadata?.resourceVersion,
      };
      const answer = await this.#send('PUT', `${path}?dryRun=All`, {
        ...this.#given.body,
        metadata,
      });
      if (answer.code !== 409) return answer;
    }
  }

  async #remove(): Promise<void> {
    const { code } = await this.#send('GET', this.#path, undefined);
    if (code === 404) return;
    // A definition that is not valid may not be served; then it cannot be cleaned up.
    const { old, stored } = this.#given;
    if (this.#server.store === undefined) await this.#send('DELETE', this.#path, undefined);
    else await this.#server.store(PREFIX + nameOf((old ?? stored) as Json), undefined);
    await this.#until((answer) => answer.code === 404);
  }

  #until(condition: (answer: Answer) => boolean): Promise<void> {
    return wait.pollImmediately(
      { clock: systemClock, intervalMs: 20, timeoutMs: 4_000 },
      async () => condition(await this.#send('GET', this.#path, undefined)),
    );
  }

  #send(method: string, path: string, body: Json | undefined): Promise<Answer> {
    const text = body === undefined ? '' : JSON.stringify(body);
    return this.#server.send({ method, path, type: 'application/json', body: text, changes: [] });
  }
}

function nameOf(definition: Json): string {
  return String((definition['metadata'] as Json)['name']);
}

function isEstablished({ body }: Answer): boolean {
  return ((body as Body).status?.conditions ?? []).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
}

interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly causes?: readonly {
      readonly field?: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

function differencesOf(ours: Answer, theirs: Answer): string[] {
  const lines: string[] = [];
  const compare = (what: string, own: unknown, other: unknown): void => {
    if (deepEqual(own, other)) return;
    const [a, b] = [JSON.stringify(own), JSON.stringify(other)];
    lines.push(`${what}: ${a}`, `${' '.repeat(what.length)}  ${b} (reference)`);
  };
  compare('code', ours.code, theirs.code);
  compare('warnings', ours.warnings.toSorted(), theirs.warnings.toSorted());
  if (ours.code >= 300 || theirs.code >= 300) {
    const [own, other] = [ours.body as Status, theirs.body as Status];
    compare('reason', own.reason, other.reason);
    const [ownCauses, otherCauses] = [causesOf(own), causesOf(other)];
    compare('causes', ownCauses.toSorted(), otherCauses.toSorted());
    // Go visits maps in any order.
    const isOtherOrder =
      JSON.stringify(ownCauses.toSorted()) === JSON.stringify(otherCauses.toSorted());
    if (!isOtherOrder || otherCauses.length < 2)
      compare('message', messageOf(own), messageOf(other));
    else if (JSON.stringify(ownCauses) !== JSON.stringify(otherCauses))
      lines.push(`order: ${ownCauses.join(' | ')}`, `       ${otherCauses.join(' | ')}`);
  } else compare('object', contentOf(ours.body), contentOf(theirs.body));
  return lines;
}

function causesOf({ details }: Status): string[] {
  return (details?.causes ?? []).map(
    ({ field, reason, message }) => `${field ?? ''}: ${reason}: ${withoutGenerated(message)}`,
  );
}

function messageOf({ message = '' }: Status): string {
  return withoutGenerated(message);
}

/** Returns the message without generated names, which are random. */
function withoutGenerated(message: string): string {
  return message.replaceAll(/widgets-[a-z0-9]{5}/g, 'widgets-?????');
}

const DIFFERENT: ReadonlySet<string> = new Set([
  'uid',
  'creationTimestamp',
  'resourceVersion',
  'time',
  'lastTransitionTime',
]);

function contentOf(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(contentOf);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([key, value]) => [
      key,
      DIFFERENT.has(key) && value !== null ? '*' : contentOf(value),
    ]),
  );
}
