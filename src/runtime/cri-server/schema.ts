// CRI in the form of the gRPC server's tables.

import { criPackage } from '#cri/proto.ts';
import { enums, messages, services } from '#cri/schema.ts';

export const criSchema = { package: criPackage, enums, messages, services } as const;

export type CriSchema = typeof criSchema;
