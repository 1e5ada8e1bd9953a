// Audit events (audit.k8s.io/v1) as they are written: JSON with the fields in upstream's order.

import { formatMicroTime } from '#machinery/text/time.ts';
import type { UserInfo } from '../request.ts';
import type { Level, Stage } from './policy.ts';

/** Identifies the object of a request. Fields that are '' are not written. */
export interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  readonly subresource: string;
}

/** The parts of a Status that are recorded. */
export interface ResponseStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code: number;
}

export interface AuditEventFields {
  readonly level: Level;
  readonly auditId: string;
  readonly stage: Stage;
  readonly requestUri: string;
  readonly verb: string;
  readonly user: UserInfo;
  readonly impersonatedUser: UserInfo | undefined;
  /** The verb of the constrained mode of impersonation. Undefined: legacy impersonation, or none. */
  readonly impersonationConstraint: string | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: ResponseStatus | undefined;
  /** The object of the request, as JSON. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  /** Wall-clock times, in ms. */
  readonly receivedMs: number;
  readonly stageMs: number;
  readonly annotations: Readonly<Record<string, string>> | undefined;
}

const TRUNCATED = { 'audit.k8s.io/truncated': 'true' };

export class AuditEvent {
  readonly fields: AuditEventFields;
  #json: string | undefined;

  constructor(fields: AuditEventFields) {
    this.fields = fields;
  }

  /** Returns the event as JSON, without a newline. */
  json(): string {
    this.#json ??= encode(this.fields);
    return this.#json;
  }

  /** Returns the event without objects, and marked as such: what is left of one that is too long. */
  truncated(): AuditEvent {
    return new AuditEvent({
      ...this.fields,
      requestObject: undefined,
      responseObject: undefined,
      annotations: { ...this.fields.annotations, ...TRUNCATED },
    });
  }

  /** Returns the event as a line of upstream's legacy format, without a newline. */
  legacyLine(): string {
    const { user, impersonatedUser: as, objectRef, responseStatus } = this.fields;
    const groups = (names: readonly string[]): string => names.map(quoted).join(',');
    const pairs: readonly (readonly [string, string])[] = [
      ['id', this.fields.auditId],
      ['stage', this.fields.stage],
      ['ip', this.fields.sourceIps[0] ?? '<unknown>'],
      ['method', this.fields.verb],
      ['user', user.name === '' ? '<none>' : user.name],
      ['groups', user.name === '' || user.groups.length === 0 ? '<none>' : groups(user.groups)],
      ['as', as?.name ?? '<self>'],
      ['asgroups', as === undefined ? '<lookup>' : groups(as.groups)],
      ['user-agent', this.fields.userAgent],
      ['namespace', objectRef?.namespace || '<none>'],
      ['uri', this.fields.requestUri],
      ['response', responseStatus === undefined ? '<deferred>' : String(responseStatus.code)],
    ];
    const text = pairs.map(([name, value]) => `${name}=${quoted(value)}`).join(' ');
    return `${new Date(this.fields.receivedMs).toISOString()} AUDIT: ${text}`;
  }
}

const quoted = (text: string): string => JSON.stringify(text);

function encode(event: AuditEventFields): string {
  const head = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: event.level,
    auditID: event.auditId,
    stage: event.stage,
    requestURI: event.requestUri,
    verb: event.verb,
    user: encodedUser(event.user),
    impersonatedUser: event.impersonatedUser && encodedUser(event.impersonatedUser),
    authenticationMetadata: event.impersonationConstraint && {
      impersonationConstraint: event.impersonationConstraint,
    },
    sourceIPs: event.sourceIps.length === 0 ? undefined : event.sourceIps,
    userAgent: event.userAgent || undefined,
    objectRef: event.objectRef && withoutEmpty(event.objectRef),
    responseStatus: event.responseStatus && encodedStatus(event.responseStatus),
  };
  const tail = {
    requestReceivedTimestamp: formatMicroTime(event.receivedMs),
    stageTimestamp: formatMicroTime(event.stageMs),
    annotations: event.annotations,
  };
  const objects =
    (event.requestObject === undefined ? '' : `"requestObject":${event.requestObject},`) +
    (event.responseObject === undefined ? '' : `"responseObject":${event.responseObject},`);
  return `${JSON.stringify(head).slice(0, -1)},${objects}${JSON.stringify(tail).slice(1)}`;
}

function encodedUser({ name, uid, groups, extra }: UserInfo): object {
  return {
    username: name || undefined,
    uid: uid || undefined,
    groups: groups.length === 0 ? undefined : groups,
    extra: extra === undefined || Object.keys(extra).length === 0 ? undefined : extra,
  };
}

function encodedStatus({ status, message, reason, details, code }: ResponseStatus): object {
  return {
    metadata: {},
    status: status || undefined,
    message: message || undefined,
    reason: reason || undefined,
    details,
    code,
  };
}

function withoutEmpty(reference: ObjectReference): object {
  return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== ''));
}
