// The rolling update of a ReplicationController, as in kubectl up to version 1.17. The client
// scales a new controller up and the old one down, step by step. An interrupted update is resumed
// by the same call.

import type { ReplicationController } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { WaitTimeoutError, poll, pollImmediately } from '#machinery/wait.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { NamespaceAccess } from './access.ts';
import { DESIRED_REPLICAS, NEXT_CONTROLLER, ORIGINAL_REPLICAS, SOURCE_ID } from './annotations.ts';
import { RollingUpdateError } from './errors.ts';
import { prepareOld, withImage } from './image-update.ts';
import { type Limits, minAvailable, scaleDownTo, scaleUpTo } from './plan.ts';
import type { Controller, RollingUpdateOptions, RollingUpdateResult } from './types.ts';

const DEFAULTS = { pollIntervalMs: 3000, timeoutMs: 300_000, updatePeriodMs: 60_000 } as const;
const RENAME = { intervalMs: 5000, timeoutMs: 60_000 } as const;

/**
 * Replaces the pods of a controller one by one. Resolves when the old controller is deleted.
 * Rejects with RollingUpdateError, with WaitTimeoutError if there is no progress for `timeoutMs`,
 * with StatusError, and with the signal's reason. The same call then resumes the update.
 */
export async function rollingUpdate(options: RollingUpdateOptions): Promise<RollingUpdateResult> {
  checkOptions(options);
  return new Update(options).run();
}

function checkOptions({
  controller,
  image,
  rollback = false,
  newName,
}: RollingUpdateOptions): void {
  if (rollback && (controller !== undefined || image !== undefined))
    throw new RollingUpdateError("Don't specify --filename or --image on rollback");
  if (!rollback && controller === undefined && image === undefined)
    throw new RollingUpdateError('Must specify --filename or --image for new controller');
  if (controller !== undefined && image !== undefined)
    throw new RollingUpdateError('--filename and --image can not both be specified');
  if (controller !== undefined && newName !== undefined && controller.metadata?.name !== newName)
    throw new RollingUpdateError(`the new controller is not named ${newName}`);
}

class Update {
  readonly #options: RollingUpdateOptions;
  readonly #access: NamespaceAccess;
  readonly #timeoutMs: number;
  readonly #periodMs: number;

  constructor(options: RollingUpdateOptions) {
    this.#options = options;
    const { clock, signal, client, namespace } = options;
    const { pollIntervalMs = DEFAULTS.pollIntervalMs, timeoutMs = DEFAULTS.timeoutMs } = options;
    this.#timeoutMs = timeoutMs;
    this.#periodMs = options.updatePeriodMs ?? DEFAULTS.updatePeriodMs;
    const timing = { clock, pollIntervalMs, timeoutMs, ...(signal !== undefined && { signal }) };
    this.#access = new NamespaceAccess(client, namespace, timing);
  }

  /** Reports whether the new controller gets the old name. */
  get #keepsName(): boolean {
    return this.#options.newName === undefined && this.#options.controller === undefined;
  }

  async run(): Promise<RollingUpdateResult> {
    const { oldName, image, rollback = false } = this.#options;
    const found = await this.#access.find(oldName);
    if (found === undefined) {
      if (image === undefined || !this.#keepsName) await this.#access.controllers.get(oldName);
      return { controller: await this.#finishRename(), renamed: true };
    }
    let old = found;
    let next = await this.#nextController(old);
    if (next.metadata?.name === oldName)
      throw new RollingUpdateError(
        `${oldName} cannot have the same name as the existing ReplicationController ${oldName}`,
      );
    if (image !== undefined) {
      const { deploymentLabelKey = 'deployment' } = this.#options;
      old = await prepareOld(this.#access, old, next.metadata?.name ?? '', deploymentLabelKey);
    }
    checkSelectors(old, next);
    if (rollback) {
      const { oldRc, newRc } = await this.#swap(old, next as Controller);
      return this.#replace(oldRc, newRc, 'Delete');
    }
    if (next.spec?.replicas === undefined)
      next = { ...next, spec: { ...next.spec, replicas: old.spec.replicas } };
    return this.#replace(old, next, this.#keepsName ? 'Rename' : 'Delete');
  }

  async #nextController(old: Controller): Promise<New<ReplicationController>> {
    const { controller, image, rollback = false, container, imagePullPolicy } = this.#options;
    if (controller !== undefined) return controller;
    const name = this.#options.newName ?? old.metadata.annotations?.[NEXT_CONTROLLER];
    const existing = name === undefined ? undefined : await this.#access.find(name);
    if (rollback) {
      if (existing === undefined)
        throw new RollingUpdateError(`Could not find ${name ?? ''} to rollback.`);
      return existing;
    }
    const wanted = image as string;
    if (existing === undefined) {
      const { deploymentLabelKey = 'deployment' } = this.#options;
      const change = {
        image: wanted,
        deploymentLabelKey,
        ...(container !== undefined && { container }),
        ...(imagePullPolicy !== undefined && { imagePullPolicy }),
      };
      return withImage(old, change, name);
    }
    const containers = existing.spec.template?.spec.containers ?? [];
    const index = Math.max(
      0,
      containers.findIndex((each) => each.name === container),
    );
    const inProgress = containers[index]?.image ?? '';
    if (inProgress !== wanted)
      throw new RollingUpdateError(
        `Found existing in-progress update to image (${inProgress}).\n` +
          `Either continue in-progress update with --image=${inProgress} or rollback with --rollback`,
      );
    this.#say(`Found existing update in progress (${existing.metadata.name}), resuming.`);
    return existing;
  }

  /** Rolls back: the old controller becomes the target, with its original number of replicas. */
  async #swap(
    old: Controller,
    next: Controller,
  ): Promise<{ readonly oldRc: Controller; readonly newRc: Controller }> {
    const original = old.metadata.annotations?.[ORIGINAL_REPLICAS];
    if (original === undefined)
      throw new RollingUpdateError(
        `couldn't find original replica count of "${old.metadata.name}"`,
      );
    this.#say(`Setting "${old.metadata.name}" replicas to ${original}`);
    const newRc = await this.#access.annotate(old.metadata.name, {
      [SOURCE_ID]: sourceId(next),
      [DESIRED_REPLICAS]: original,
    });
    return { oldRc: next, newRc };
  }

  async #replace(
    source: Controller,
    target: New<ReplicationController>,
    cleanup: 'Delete' | 'Rename',
  ): Promise<RollingUpdateResult> {
    let newRc = await this.#targetOf(source, target);
    const desired = desiredReplicas(newRc);
    let oldRc = source;
    if (oldRc.metadata.annotations?.[ORIGINAL_REPLICAS] === undefined)
      oldRc = await this.#access.annotate(oldRc.metadata.name, {
        [ORIGINAL_REPLICAS]: String(replicasOf(oldRc)),
      });
    const limits = limitsOf(this.#options, desired, replicasOf(oldRc));
    const up = `Scaling up ${newRc.metadata.name} from ${replicasOf(newRc)} to ${desired}`;
    const down = `scaling down ${oldRc.metadata.name} from ${replicasOf(oldRc)} to 0`;
    const most = desired + limits.maxSurge;
    this.#say(
      `${up}, ${down} (keep ${minAvailable(limits)} pods available, don't exceed ${most} pods)`,
    );
    let deadline = this.#deadline();
    while (replicasOf(newRc) !== desired || replicasOf(oldRc) !== 0) {
      const before = `${replicasOf(oldRc)} ${replicasOf(newRc)}`;
      const more = scaleUpTo({ old: replicasOf(oldRc), new: replicasOf(newRc) }, limits);
      if (more !== replicasOf(newRc)) {
        this.#say(`Scaling ${newRc.metadata.name} up to ${more}`);
        newRc = await this.#access.scale(newRc.metadata.name, more);
      }
      await this.#access.sleep(this.#periodMs);
      const available = await this.#access.available(newRc);
      const fewer = scaleDownTo(
        { old: replicasOf(oldRc), new: replicasOf(newRc) },
        available,
        limits,
      );
      if (fewer !== replicasOf(oldRc)) {
        this.#say(`Scaling ${oldRc.metadata.name} down to ${fewer}`);
        oldRc = await this.#access.scale(oldRc.metadata.name, fewer);
      }
      if (`${replicasOf(oldRc)} ${replicasOf(newRc)}` !== before) deadline = this.#deadline();
      else if (this.#options.clock.monotonic() > deadline)
        throw new WaitTimeoutError('timed out waiting for any update progress to be made');
      // Without a period, a step without progress would be repeated at once.
      else if (this.#periodMs <= 0) await this.#access.sleep(this.#access.poll().intervalMs);
    }
    return this.#cleanUp(oldRc, newRc, cleanup);
  }

  #deadline(): number {
    return this.#options.clock.monotonic() + this.#timeoutMs;
  }

  /** Returns the new controller, which is created if it does not exist. */
  async #targetOf(source: Controller, target: New<ReplicationController>): Promise<Controller> {
    const name = target.metadata?.name ?? '';
    const id = sourceId(source);
    const existing = await this.#access.find(name);
    if (existing !== undefined) {
      const { annotations = {} } = existing.metadata;
      if (annotations[SOURCE_ID] !== id || annotations[DESIRED_REPLICAS] === undefined)
        throw new RollingUpdateError(
          `Missing/unexpected annotations for controller ${name}, expected ${id} : ${JSON.stringify(annotations)}`,
        );
      this.#say(`Continuing update with existing controller ${name}.`);
      return existing;
    }
    const replicas = target.spec?.replicas ?? 0;
    if (replicas <= 0)
      throw new RollingUpdateError(
        `Invalid controller spec for ${name}; required: > 0 replicas, actual: ${replicas}`,
      );
    const created = await this.#access.controllers.create({
      ...target,
      metadata: {
        ...target.metadata,
        annotations: {
          ...target.metadata?.annotations,
          [DESIRED_REPLICAS]: String(replicas),
          [SOURCE_ID]: id,
        },
      },
      spec: { ...target.spec, replicas: 0 },
    });
    this.#say(`Created ${created.metadata.name}`);
    return created;
  }

  async #cleanUp(
    oldRc: Controller,
    newRc: Controller,
    cleanup: 'Delete' | 'Rename',
  ): Promise<RollingUpdateResult> {
    const renamed = cleanup === 'Rename';
    const { name } = newRc.metadata;
    await this.#access.annotate(name, {
      [DESIRED_REPLICAS]: undefined,
      [ORIGINAL_REPLICAS]: undefined,
      [NEXT_CONTROLLER]: undefined,
      // An interrupted update finds the controller by this annotation until it is renamed.
      ...(!renamed && { [SOURCE_ID]: undefined }),
    });
    const settled = await this.#access.settled(name);
    const old = oldRc.metadata.name;
    this.#say(
      renamed
        ? `Update succeeded. Deleting old controller: ${old}`
        : `Update succeeded. Deleting ${old}`,
    );
    await this.#access.controllers.delete(old, { propagationPolicy: 'Background' });
    return { controller: renamed ? await this.#rename(settled) : settled, renamed };
  }

  async #finishRename(): Promise<Controller> {
    const { oldName } = this.#options;
    const { items } = await this.#access.controllers.list();
    const source = items.find(({ metadata }) =>
      metadata.annotations?.[SOURCE_ID]?.startsWith(`${oldName}:`),
    );
    if (source === undefined)
      throw new RollingUpdateError(
        `couldn't find a replication controller with source id == ${this.#options.namespace}/${oldName}`,
      );
    return this.#rename(source);
  }

  /** Replaces the new controller with a controller of the old name. Its pods stay. */
  async #rename(controller: Controller): Promise<Controller> {
    const { oldName, clock, signal } = this.#options;
    const { name, annotations = {}, labels, namespace } = controller.metadata;
    this.#say(`Renaming ${name} to ${oldName}`);
    // The deletion of the old controller may not have finished.
    const gone = async (which: string): Promise<boolean> =>
      (await this.#access.find(which)) === undefined;
    const waiting = { clock, ...RENAME, ...(signal !== undefined && { signal }) };
    await pollImmediately(waiting, () => gone(oldName));
    await this.#access.controllers.delete(name, { propagationPolicy: 'Orphan' });
    await poll(waiting, () => gone(name));
    const { [SOURCE_ID]: _source, ...kept } = annotations;
    return this.#access.controllers.create({
      metadata: { name: oldName, namespace, labels, annotations: kept },
      spec: controller.spec,
    });
  }

  #say(line: string): void {
    this.#options.onProgress?.(line);
  }
}

function sourceId({ metadata }: Controller): string {
  return `${metadata.name}:${metadata.uid}`;
}

function replicasOf({ spec }: Controller): number {
  return spec.replicas ?? 0;
}

function desiredReplicas({ metadata }: Controller): number {
  const text = metadata.annotations?.[DESIRED_REPLICAS] ?? '';
  if (!/^\d{1,9}$/.test(text))
    throw new RollingUpdateError(
      `Unable to parse annotation for ${metadata.name}: ${DESIRED_REPLICAS}=${text}`,
    );
  return Number(text);
}

function limitsOf(
  { maxSurge = 1, maxUnavailable = 0 }: RollingUpdateOptions,
  desired: number,
  oldReplicas: number,
): Limits {
  if (desired > 0 && maxSurge === 0 && maxUnavailable === 0)
    throw new RollingUpdateError('one of maxSurge or maxUnavailable must be specified');
  return { desired, maxSurge, maxUnavailable: desired === 0 ? oldReplicas : maxUnavailable };
}

/** Checks that the selectors differ in the value of a key, so that no pod matches both. */
function checkSelectors(old: Controller, next: New<ReplicationController>): void {
  const selector = next.spec?.selector ?? {};
  const nextName = next.metadata?.name ?? '';
  const differs = Object.entries(old.spec.selector ?? {}).some(
    ([key, value]) => ![undefined, value].includes(ownValue(selector, key)),
  );
  if (!differs)
    throw new RollingUpdateError(
      `${nextName} must specify a matching key with non-equal value in Selector ` +
        `for ${old.metadata.name}`,
    );
}
