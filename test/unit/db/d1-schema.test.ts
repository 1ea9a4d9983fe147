import { getTableConfig } from "drizzle-orm/sqlite-core";
import { expect, it } from "vitest";
import {
  agentVersions,
  anchors,
  apiKeys,
  approvals,
  hookEvents,
  hooks,
  metrics,
  metricsCursors,
  priceOverrides,
  runIndex,
  spend,
  spendCursors,
  tenants,
  threadHealth,
  threads,
  webhookDeliveries,
  webhooks,
} from "#db/d1-schema.ts";
import { createNodeD1 } from "#test/support/node-d1.ts";

const TABLES = [
  tenants,
  apiKeys,
  agentVersions,
  anchors,
  approvals,
  hookEvents,
  hooks,
  metrics,
  metricsCursors,
  priceOverrides,
  runIndex,
  spend,
  spendCursors,
  threadHealth,
  threads,
  webhookDeliveries,
  webhooks,
].map((table) => getTableConfig(table));

it("[Z7] the directory's migrations and its drizzle schema describe the same tables", () => {
  const { sqlite } = createNodeD1();
  for (const table of TABLES) {
    const primary = new Set(
      table.primaryKeys.flatMap((key) => key.columns.map((column) => column.name)),
    );
    const declared = table.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notnull: column.notNull ? 1 : 0,
      primary: column.primary || primary.has(column.name),
    }));
    const stored = sqlite.prepare(`pragma table_info(${table.name})`).all();
    expect(
      stored.map(({ name, type, notnull, pk }) => ({
        name,
        type: String(type).toLowerCase(),
        notnull,
        primary: pk !== 0,
      })),
      table.name,
    ).toEqual(declared);
  }
});

it("[Z7] the directory's migrations and its drizzle schema describe the same indexes", () => {
  const { sqlite } = createNodeD1();
  const stored = sqlite
    .prepare("select name from sqlite_master where type = 'index' and sql is not null")
    .all();
  const declared = TABLES.flatMap((table) => [
    ...table.indexes.map((each) => each.config.name),
    ...table.columns.filter((column) => column.isUnique).map((column) => column.uniqueName),
  ]);
  expect(stored.map(({ name }) => name).toSorted()).toEqual(declared.toSorted());
});
