"""Small checkouts, laid out like those of the public benchmarks, of tools that no benchmark has."""

import json
from pathlib import Path
from typing import Any

_BFCL = "gorilla/berkeley-function-call-leaderboard/bfcl_eval"
_ACE = "ACEBench/model_inference/multi_step/scenariosen"


def write_checkouts(folder: Path) -> None:
    """Writes all six."""
    for path, text in _files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text if isinstance(text, str) else json.dumps(text))


def _files() -> dict[str, Any]:
    return {
        "tau-bench/tau_bench/envs/airline/tools/weigh_crate.py": '''
class WeighCrate:
    @staticmethod
    def get_info():
        return {"type": "function", "function": {"name": "weigh_crate", "description": "Weighs a crate of apples.",
            "parameters": {"type": "object", "required": ["crate_no"], "properties": {
                "crate_no": {"type": "string"}, "tare_kg": {"type": "number"}}}}}
''',
        "tau-bench/tau_bench/envs/airline/tasks_test.py": 'tasks = [Task(instruction="You want a crate weighed.")]',
        "tau-bench/tau_bench/envs/airline/wiki.md": "Crates are weighed in the morning.",
        "tau2-bench/src/tau2/domains/airline/data_model.py": '''
class Crate(BaseModel):
    crate_no: str = Field(description="Its number")
    apples: List[str] = Field(default_factory=list)
''',
        "tau2-bench/src/tau2/domains/airline/tools.py": '''
class CrateTools(ToolKitBase):
    @is_tool(ToolType.WRITE)
    def stack_crates(self, crates: List[Crate | dict], height: Optional[int] = None) -> str:
        """Stacks crates.

        Args:
            crates: Which.
        """

    def helper(self): ...
''',
        "tau2-bench/data/tau2/domains/airline/db.json": {"rows": {"a": {"row_no": 1, "trees": []}}},
        "tau2-bench/data/tau2/domains/airline/tasks.json": [
            {"user_scenario": {"instructions": {"reason_for_call": "Crates are to be stacked.", "unknown_info": None}}}
        ],
        f"{_BFCL}/data/multi_turn_func_doc/press_api.json": json.dumps({
            "name": "press_apples",
            "description": "This tool belongs to the press. Tool description: Presses apples.",
            "parameters": {"type": "dict", "required": ["crate_no"], "properties": {"crate_no": {"type": "string"}}},
        }) + "\n",
        f"{_BFCL}/data/BFCL_v4_multi_turn_base.json": json.dumps(
            {"question": [[{"role": "user", "content": "Press."}]], "involved_classes": ["PressAPI"]}
        ),
        f"{_BFCL}/eval_checker/multi_turn_eval/func_source_code/press_api.py": '''
DEFAULT_STATE = {"presses": {1: {"press_no": 1, "is_clean": True}}, "towns": {"Kent": 1, "Devon": 2}}
class PressAPI:
    def press_apples(self, crate_no): ...
''',
        **{
            f"vitabench/src/vita/domains/{domain}/{name}.py": text
            for domain in ("delivery", "instore", "ota")
            for name, text in {
                "data_model": "class Jar(Base):\n    jar_no: str\n    grams: int = 400\n",
                "tools": f"class Jars:\n    @is_tool(ToolType.READ)\n    def {domain}_jar(self, jar_no: str): ...\n",
                "tools_schema": f'TOOL_DESCRIPTIONS_EN = {{"{domain}_jar": {{"description": "Shows a jar."}}}}\n',
            }.items()
        },
        "vitabench/data/vita/domains/delivery/tasks_en.json": [{"instructions": "You want a jar."}],
        **{
            f"{_ACE}/{path}.py": f'class {name}:\n    def wash(self, crate_no: str):\n        """Washes apples."""\n'
            for path, name in {
                "travel": "Travel",
                "phone_platform/food_services": "FoodPlatform",
                "phone_platform/message": "MessageApi",
                "phone_platform/reminder": "ReminderApi",
                "phone_platform/base_api": "BaseApi",
            }.items()
        },
        "ACEBench/data_all/data_en/data_agent_multi_step.json": json.dumps({
            "question": "Wash them.", "involved_classes": ["Travel"], "initial_config": {},
            "function": [{"name": "wash", "description": "Washes crates.", "parameters": {"properties": {
                "crate_no": {"type": "string"}, "hot": {"type": "boolean"}}}}],
        }),
        "mcp-atlas/services/mcp_eval/test_servers.py": (
            'TEST_CALLS = {"cellar": ("cellar_list_jars", {"shelf": 3}), "gone": ("gone_x", {})}'
        ),
        "mcp-atlas/services/agent-environment/src/agent_environment/mcp_server_template.json": {
            "mcpServers": {"cellar": {"command": "npx"}}
        },
    }  # fmt: skip
