// The record of one request for the audit log, which grows while the request passes the chain.

import type * as apierrors from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { ApiRequest, RequestAudit, UserInfo } from '../request.ts';
import { AuditEvent, type ObjectReference, type ResponseStatus } from './event.ts';
import { type AuditDecision, LEVELS, type Level, type Stage } from './policy.ts';
import { sourceIps } from './source-ips.ts';

/** Longer user agents are cut. */
const MAX_USER_AGENT = 1024;

export class AuditRecord implements RequestAudit {
  readonly decision: AuditDecision;
  readonly #request: ApiRequest;
  readonly #auditId: string;
  /** The user that was authenticated; impersonation replaces that of the request. */
  readonly #user: UserInfo;
  readonly #receivedMs: number;
  readonly #userAgent: string;
  readonly #sourceIps: readonly string[];
  #impersonatedUser: UserInfo | undefined;
  #impersonationConstraint: string | undefined;
  #objectRef: ObjectReference | undefined;
  #requestObject: string | undefined;
  #annotations: Record<string, string> | undefined;
  responseStatus: ResponseStatus | undefined;
  responseObject: string | undefined;

  constructor(
    request: ApiRequest,
    user: UserInfo,
    decision: AuditDecision,
    auditId: string,
    receivedMs: number,
  ) {
    this.decision = decision;
    this.#request = request;
    this.#auditId = auditId;
    this.#user = user;
    this.#receivedMs = receivedMs;
    this.#sourceIps = sourceIps(request);
    const agent = request.headers['user-agent'] ?? '';
    this.#userAgent =
      agent.length > MAX_USER_AGENT ? `${agent.slice(0, MAX_USER_AGENT)}...TRUNCATED` : agent;
    const { info } = request;
    if (info.isResourceRequest)
      this.#objectRef = {
        resource: info.resource,
        namespace: info.namespace,
        name: info.name,
        uid: '',
        apiGroup: info.apiGroup,
        apiVersion: info.apiVersion,
        resourceVersion: '',
        subresource: info.subresource,
      };
  }

  /** Reports whether the level is at least this one. */
  records(level: Level): boolean {
    return LEVELS.indexOf(this.decision.level) >= LEVELS.indexOf(level);
  }

  annotate(key: string, value: string): void {
    this.#annotations ??= {};
    if (!Object.hasOwn(this.#annotations, key)) this.#annotations[key] = value;
  }

  impersonated(user: UserInfo, constraint: string | undefined): void {
    this.#impersonatedUser = user;
    this.#impersonationConstraint = constraint;
  }

  requestMetadata(metadata: unknown): void {
    if (!isPlainObject(metadata) || this.#objectRef === undefined) return;
    const ref = this.#objectRef;
    const text = (known: string, name: string): string =>
      known !== '' || typeof metadata[name] !== 'string' ? known : metadata[name];
    this.#objectRef = {
      ...ref,
      namespace: text(ref.namespace, 'namespace'),
      name: text(ref.name, 'name'),
      uid: text(ref.uid, 'uid'),
      resourceVersion: text(ref.resourceVersion, 'resourceVersion'),
    };
  }

  requestObject(object: object): void {
    if (this.records('Request')) this.#requestObject = this.objectJson(object);
  }

  requestPatch(patch: unknown): void {
    if (this.records('Request')) this.#requestObject = stringifyJson(patch);
  }

  /** Records an error as the response. */
  failed({ status, code }: apierrors.StatusError): void {
    this.responseStatus = statusOf(status, code);
    if (this.records('RequestResponse')) this.responseObject = this.objectJson(status);
  }

  /** Returns an object as the policy wants it recorded. */
  objectJson(object: object): string {
    return stringifyJson(this.decision.omitManagedFields ? withoutManagedFields(object) : object);
  }

  event(stage: Stage, nowMs: number): AuditEvent {
    const { info, requestUri } = this.#request;
    return new AuditEvent({
      level: this.decision.level,
      auditId: this.#auditId,
      stage,
      requestUri,
      verb: info.verb,
      user: this.#user,
      impersonatedUser: this.#impersonatedUser,
      impersonationConstraint: this.#impersonationConstraint,
      sourceIps: this.#sourceIps,
      userAgent: this.#userAgent,
      objectRef: this.#objectRef,
      responseStatus: this.responseStatus,
      requestObject: this.#requestObject,
      responseObject: this.responseObject,
      receivedMs: this.#receivedMs,
      stageMs: stage === 'RequestReceived' ? this.#receivedMs : nowMs,
      annotations: this.#annotations && { ...this.#annotations },
    });
  }
}

/** Returns the parts of a Status that are recorded. */
export function statusOf(status: object, code: number): ResponseStatus {
  const { status: text, message, reason, details } = status as Partial<ResponseStatus>;
  return { status: text, message, reason, details, code };
}

/** Returns an object, or the objects of a list or of a table, without their managed fields. */
export function withoutManagedFields(object: object): object {
  const { metadata, items, rows } = object as Readonly<Record<string, unknown>>;
  const isOfObjects = (value: unknown): value is readonly object[] =>
    Array.isArray(value) && value.every((item) => isPlainObject(item));
  return {
    ...object,
    ...(isPlainObject(metadata) && { metadata: { ...metadata, managedFields: undefined } }),
    ...(isOfObjects(items) && { items: items.map(withoutManagedFields) }),
    ...(isOfObjects(rows) && {
      rows: rows.map((row) => {
        const { object: ofRow } = row as Readonly<Record<string, unknown>>;
        return isPlainObject(ofRow) ? { ...row, object: withoutManagedFields(ofRow) } : row;
      }),
    }),
  };
}
