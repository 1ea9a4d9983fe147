/**
 * The gold actions of tau2-bench's retail tasks as a plan: one action a step, then an answer. The data lies beside the
 * project and is never copied into it.
 */
import { existsSync, readFileSync } from "node:fs";
import type { JsonObject } from "#shared/json.ts";
import { ShopRefusal, type ShopData } from "./records.ts";
import { isWrite } from "./requests.ts";
import { RetailShop } from "./shop.ts";

export interface RetailAction {
  readonly name: string;
  readonly arguments: JsonObject;
}
export interface RetailTask {
  readonly id: string;
  readonly actions: readonly RetailAction[];
}
export interface Retail {
  readonly tasks: readonly RetailTask[];
  readonly data: ShopData;
}

const FOLDER = `${import.meta.dirname}/../../../../shared/data`;
const TASKS = "tau2-retail-tasks.json";
const DATA = "tau2-retail-db.json";
export const NO_RETAIL = `shared/data/${TASKS} and ${DATA} do not lie beside the project`;

/** Null where the data is not there. */
export function readRetail(): Retail | null {
  const folder = process.env["HOLDFAST_TAU2"] ?? FOLDER;
  if (!existsSync(`${folder}/${TASKS}`) || !existsSync(`${folder}/${DATA}`)) return null;
  return {
    tasks: JSON.parse(readFileSync(`${folder}/${TASKS}`, "utf8")) as readonly RetailTask[],
    data: JSON.parse(readFileSync(`${folder}/${DATA}`, "utf8")) as ShopData,
  };
}

/** The shop after a task's actions, carried out in order and with no runtime between. */
export function shopAfter(task: RetailTask, data: ShopData): RetailShop {
  const shop = new RetailShop(data);
  for (const [index, { name, arguments: args }] of task.actions.entries()) {
    try {
      if (isWrite(name)) shop.write({ name, key: `direct_${index}`, args });
    } catch (error) {
      if (!(error instanceof ShopRefusal)) throw error;
    }
  }
  return shop;
}
