// `cox rolling-update`: replaces the pods of a ReplicationController one by one, and ends when that
// is done.

import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import type { ReplicationController } from '#api/groups/core/v1/index.ts';
import { parseYamlDocuments, YamlError } from '#api/machinery/codec/index.ts';
import type { KubeObject, New } from '#api/machinery/meta/v1/index.ts';
import { connect, type Connection } from '#client/connect.ts';
import { KubeconfigError } from '#client/kubeconfig.ts';
import { recreatePods, rollingUpdate, RollingUpdateError } from '#client/rolling-update/index.ts';
import { UserError } from '#cluster/user-error.ts';
import { StatusError } from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { WaitTimeoutError } from '#machinery/wait.ts';
import { type OutputFlags, writeJson } from './inspect/output.ts';
import { stopSignal } from './terminal.ts';

export interface RollingUpdateFlags extends OutputFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly filename?: string;
  readonly image?: string;
  readonly container?: string;
  readonly imagePullPolicy?: string;
  readonly deploymentLabelKey: string;
  readonly updatePeriod: number;
  readonly pollInterval: number;
  readonly timeout: number;
  readonly rollback?: true;
  readonly recreate?: true;
}

/** Rejects with UserError. */
export async function rollingUpdateCommand(
  oldName: string,
  newName: string | undefined,
  flags: RollingUpdateFlags,
): Promise<void> {
  checkFlags(newName, flags);
  const { signal } = stopSignal();
  let connection: Connection | undefined;
  try {
    const controller =
      flags.filename === undefined ? undefined : await readController(flags.filename);
    const { kubeconfig, context } = flags;
    connection = await connect({
      userAgent: 'cox',
      ...(kubeconfig !== undefined && { kubeconfig }),
      ...(context !== undefined && { context }),
      onWarning: (message) => process.stderr.write(`Warning: ${message}\n`),
    });
    const {
      updatePeriod: updatePeriodMs,
      pollInterval: pollIntervalMs,
      timeout: timeoutMs,
    } = flags;
    const isJson = flags.output === 'json';
    const progress = isJson ? process.stderr : process.stdout;
    const onProgress = (line: string): void => void progress.write(`${line}\n`);
    const shared = {
      client: connection.client,
      namespace: flags.namespace ?? connection.namespace,
      clock: systemClock,
      signal,
      updatePeriodMs,
      pollIntervalMs,
      timeoutMs,
      onProgress,
    };
    if (flags.recreate === true) {
      const { image } = flags;
      const { metadata, spec } = await recreatePods({
        ...shared,
        name: oldName,
        ...(image !== undefined && { image }),
      });
      if (isJson)
        return writeJson({
          controller: metadata.name,
          recreated: true,
          replicas: spec.replicas ?? 1,
        });
      process.stdout.write(`replicationcontroller/${oldName} recreated\n`);
      return;
    }
    const { image, container, imagePullPolicy, deploymentLabelKey, rollback = false } = flags;
    const result = await rollingUpdate({
      ...shared,
      oldName,
      deploymentLabelKey,
      rollback,
      ...(newName !== undefined && { newName }),
      ...(controller !== undefined && { controller }),
      ...(image !== undefined && { image }),
      ...(container !== undefined && { container }),
      ...(imagePullPolicy !== undefined && { imagePullPolicy }),
    });
    const { metadata, spec } = result.controller;
    const { name } = metadata;
    if (isJson)
      return writeJson({
        controller: name,
        renamed: result.renamed,
        replicas: spec.replicas ?? 1,
      });
    const outcome = result.renamed ? 'rolling updated' : `rolling updated to "${name}"`;
    process.stdout.write(`replicationcontroller/${name} ${outcome}\n`);
  } catch (error) {
    throw asUserError(error, signal);
  } finally {
    connection?.close();
  }
}

function checkFlags(
  newName: string | undefined,
  { filename, image, container, rollback, recreate, deploymentLabelKey }: RollingUpdateFlags,
): void {
  if (deploymentLabelKey === '') throw new UserError('--deployment-label-key can not be empty');
  if (container !== undefined && image === undefined)
    throw new UserError('--container needs --image');
  if (recreate !== true) return;
  if (
    newName !== undefined ||
    filename !== undefined ||
    rollback === true ||
    container !== undefined
  )
    throw new UserError(
      '--recreate takes one controller, and no flag but --image beside the times',
    );
}

async function readController(filename: string): Promise<New<ReplicationController>> {
  const text = filename === '-' ? await readAll(process.stdin) : readFileSync(filename, 'utf8');
  const documents = parseYamlDocuments(text) as readonly (Partial<KubeObject> | null)[];
  const [document] = documents;
  if (documents.length > 1) throw new UserError(`${filename} specifies multiple items`);
  if (document === undefined || document === null)
    throw new UserError(`please make sure ${filename} exists and is not empty`);
  const { apiVersion, kind } = document;
  if (apiVersion !== 'v1' || kind !== 'ReplicationController')
    throw new UserError(
      `${filename} contains a ${apiVersion ?? ''}, Kind=${kind ?? ''} not a ReplicationController`,
    );
  return document;
}

function asUserError(error: unknown, signal: AbortSignal): unknown {
  const options = { cause: error };
  if (signal.aborted)
    return new UserError('interrupted; the same command goes on where it stopped', options);
  if (error instanceof StatusError)
    return new UserError(`Error from server (${error.reason}): ${error.message}`, options);
  const isForUser =
    error instanceof RollingUpdateError ||
    error instanceof WaitTimeoutError ||
    error instanceof KubeconfigError ||
    error instanceof YamlError ||
    (error as NodeJS.ErrnoException).syscall === 'open';
  return isForUser ? new UserError((error as Error).message, options) : error;
}
