//! For programs: tables, and every run.

use super::Report;
use crate::suite::results::{Row, Table};
use crate::suite::store::Store;
use serde_json::{Map, Value, json};

pub(super) fn render(report: &Report, stores: &[(&str, &Store)]) -> serde_json::Result<String> {
    let tables: Vec<Value> = report.main.iter().chain(&report.more).map(of_table).collect();
    let mut value = json!({
        "version": 1,
        "title": report.title,
        "sentences": report.sentences,
        "tuned": report.tuned,
        "records": report.recorded(),
        "failures": report.failures,
        "tables": tables,
    });
    match stores {
        [("", store)] => {
            value["evaluation"] = json!(store.header);
            value["runs"] = json!(store.runs);
        }
        _ => {
            let evaluation = |(directory, store): &(&str, &Store)| {
                let (evaluation, runs) = (&store.header, &store.runs);
                json!({ "directory": directory, "evaluation": evaluation, "runs": runs })
            };
            value["evaluations"] = stores.iter().map(evaluation).collect();
        }
    }
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}

fn of_table(table: &Table) -> Value {
    let row = |row: &Row| {
        let columns = table.columns.iter().zip(&row.cells);
        let columns = columns.map(|(name, cell)| {
            let cell = cell.map(|cell| {
                let mut value = json!({ "value": cell.value });
                if let Some(percent) = cell.overhead {
                    value["overhead_percent"] = json!(percent);
                }
                if let Some(verdict) = cell.verdict {
                    value["verdict"] = json!(verdict);
                }
                value
            });
            (name.clone(), cell.unwrap_or(Value::Null))
        });
        json!({ "workload": row.name, "columns": columns.collect::<Map<_, _>>() })
    };
    json!({
        "metric": table.metric.name(),
        "title": table.title,
        "about": table.metric.about(),
        "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
        "sums": table.sums.iter().map(row).collect::<Vec<_>>(),
        "not_in_sums": table.left_out,
    })
}
